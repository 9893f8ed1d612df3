package providers_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func machine(t *testing.T, root string) enginetest.Machine {
	t.Helper()
	h, err := linux.Open(linux.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return enginetest.Machine{Host: h, Kinds: providers.Kinds(), Facts: resource.Facts{"os": map[string]any{"family": "Debian"}}}
}

func TestConflictingResourcesOnADebianRootFail(t *testing.T) {
	root := debian.Root(t)
	must(t, os.Mkdir(filepath.Join(root, "srv/real"), 0o755))
	must(t, os.Symlink("real", filepath.Join(root, "srv/link")))
	unit := "[Service]\nExecStart=/bin/true\n[Install]\nAlias=nick.service\nWantedBy=multi-user.target\n"
	must(t, os.WriteFile(filepath.Join(root, "lib/systemd/system/own.service"), []byte(unit), 0o644))
	must(t, os.Symlink("/lib/systemd/system/own.service", filepath.Join(root, "etc/systemd/system/nick.service")))
	same := func(name, other, ref string) string {
		return `"` + name + `" is on this host the same as "` + other + `" of ` + ref +
			": keep one of the two resources, or let their nodeSelector or when exclude each other"
	}
	arch := native(t, root)
	for name, c := range map[string]struct{ resources, want []string }{
		"paths that meet through a symlinked directory": {
			[]string{`File/a {path: /srv/real/f, content: a}`, `File/b {path: /srv/link/f, content: b}`},
			[]string{"File/a: " + same("/srv/real/f", "/srv/link/f", "File/b"), "File/b: " + same("/srv/link/f", "/srv/real/f", "File/a")},
		},
		"a unit and its alias": {
			[]string{`SystemService/a {name: own, enable: true}`, `SystemService/b {name: nick, enable: false}`},
			[]string{"SystemService/a: " + same("own", "nick", "SystemService/b"), "SystemService/b: " + same("nick", "own", "SystemService/a")},
		},
		"a package and itself with its architecture": {
			[]string{`Package/a {name: dpkg, mark: hold}`, `Package/b {name: "dpkg:` + arch + `", mark: none}`},
			[]string{"Package/a: " + same("dpkg", "dpkg:"+arch, "Package/b"), "Package/b: " + same("dpkg:"+arch, "dpkg", "Package/a")},
		},
	} {
		got := machine(t, root).Apply(t, c.resources...)
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "srv/real/f")); !os.IsNotExist(err) {
		t.Errorf("the file was written: %v", err)
	}
}

// native returns the architecture of a Debian root.
func native(t *testing.T, root string) string {
	t.Helper()
	for arch, tuple := range map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"} {
		if _, err := os.Stat(filepath.Join(root, "usr/lib", tuple)); err == nil {
			return arch
		}
	}
	t.Fatal("unknown architecture of the root")
	return ""
}

func TestAFileAndAKeyThatRevertEachOtherFail(t *testing.T) {
	root := debian.Root(t)
	m := machine(t, root)
	resources := []string{
		`File/ssh {path: /root/.ssh, ensure: directory, mode: "0700"}`,
		`File/keys {path: /root/.ssh/authorized_keys, content: "# managed\n"}`,
		`SSHAuthorizedKey/zed {user: root, type: ssh-ed25519, key: AAAAC3NzaC1lZDI1NTE5AAAAIDqJ8kVjkCgMzsnDLVbHVrsHBFzeEqvKxLpiYpC5ndTn}`,
	}
	for range 2 {
		result := m.Report(t, resources...)
		if result.Status != "failed" || result.Counts.Failed != 1 {
			t.Fatalf("status %s, counts %+v", result.Status, result.Counts)
		}
		i := slices.IndexFunc(result.Resources, func(r report.ResourceReport) bool { return r.State == "Failed" })
		const want = "was undone in the same run, by SSHAuthorizedKey/zed: "
		if got := result.Resources[i]; got.Ref.String() != "File/keys" || !strings.HasPrefix(got.Message, want) {
			t.Errorf("%s: %s", got.Ref, got.Message)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
