package debian_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/debian"
)

func TestRootsAreIsolated(t *testing.T) {
	one, other := debian.Root(t), debian.Root(t)
	write(t, filepath.Join(one, "etc/motd"), "changed\n")

	if got := read(t, filepath.Join(one, "etc/motd")); got != "changed\n" {
		t.Errorf("the root that was written has %q", got)
	}
	if got := read(t, filepath.Join(other, "etc/motd")); got == "changed\n" {
		t.Error("what was written in one root shows in another")
	}
}

func TestRootIsNeutral(t *testing.T) {
	root := debian.Root(t)
	got := map[string]string{}
	for _, name := range []string{"etc/hostname", "etc/resolv.conf", "etc/machine-id", "etc/apt/sources.list"} {
		got[name] = read(t, filepath.Join(root, name))
	}
	want := map[string]string{"etc/hostname": "debian\n", "etc/resolv.conf": "", "etc/machine-id": "", "etc/apt/sources.list": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the root carries something of this machine (-want +got):\n%s", diff)
	}
}

func TestRootServesTheToolsOfAHost(t *testing.T) {
	root := debian.Root(t)
	debian.Chroot(t, root, "useradd", "--create-home", "--uid", "1500", "erin")

	got := debian.Chroot(t, root, "sh", "-c", "id erin; stat --format=%U /home/erin; cat /dev/null; echo /proc/self/fd/*")
	want := "uid=1500(erin) gid=1500(erin) groups=1500(erin)\nerin\n/proc/self/fd/0"
	if !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
}

func TestRootCannotChangeTheKernelsSettings(t *testing.T) {
	root := debian.Root(t)
	got := debian.Chroot(t, root, "sh", "-c", "echo test > /proc/sys/kernel/domainname || echo refused")
	if !strings.Contains(got, "Read-only file system") || !strings.Contains(got, "refused") {
		t.Errorf("a root could write to /proc/sys: %s", got)
	}
}

func TestRootLeavesNothingBehind(t *testing.T) {
	var root string
	t.Run("a test with a root in use", func(t *testing.T) {
		root = debian.Root(t)
		open, err := os.Open(filepath.Join(root, "dev/pts"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = open.Close() })
	})
	expectGone(t, root)
}

// expectGone checks that nothing of a root is mounted or on disk.
func expectGone(t *testing.T, root string) {
	t.Helper()
	place := filepath.Dir(root)
	if strings.Contains(read(t, "/proc/self/mountinfo"), place) {
		t.Errorf("something is still mounted in %s", place)
	}
	left, err := filepath.Glob(place + "*")
	if err != nil || len(left) > 0 {
		t.Errorf("left on disk: %v %v", left, err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
