package debian_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/debian"
)

func TestAptInstallsFromTheRepository(t *testing.T) {
	root := debian.Root(t)
	debian.Repository(t, root,
		debian.Deb{
			Name: "greeter", Version: "1:1.0-1", Depends: "greeter-data (>= 1.0)", Provides: "greeting",
			Files:     map[string]string{"/usr/bin/greet": "#!/bin/sh\ncat /etc/greeting\n", "/etc/greeting": "hello\n"},
			Conffiles: []string{"/etc/greeting"},
			Scripts:   map[string]string{"postinst": "#!/bin/sh\nset -e\necho \"$1\" > /var/lib/greeter-configured\n"},
			Fields:    map[string]string{"Conflicts": "shouter"},
		},
		debian.Deb{Name: "greeter-data", Version: "1.0"},
	)
	debian.UpdateIndex(t, root)
	debian.Chroot(t, root, "apt-get", "install", "--yes", "greeting")

	got := []string{
		debian.Chroot(t, root, "greet"),
		read(t, filepath.Join(root, "var/lib/greeter-configured")),
		debian.Chroot(t, root, "dpkg-query", "--show", "--showformat=${Package} ${Version} ${Conffiles}\n", "greeter", "greeter-data"),
		debian.Chroot(t, root, "dpkg", "--verify", "greeter"),
	}
	want := []string{
		"hello\n",
		"configure\n",
		"greeter 1:1.0-1  /etc/greeting b1946ac92492d2347c6235b4d2611184\ngreeter-data 1.0 \n",
		"",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRepositoryIsTheOnlySource(t *testing.T) {
	root := debian.Root(t)
	debian.Repository(t, root, debian.Deb{Name: "only", Version: "1"})
	debian.UpdateIndex(t, root)

	got := debian.Chroot(t, root, "apt-get", "indextargets", "--format", "$(URI)", "Created-By: Packages")
	if want := "file:/srv/repository/./Packages\n"; got != want {
		t.Errorf("apt reads %q, want %q", got, want)
	}
}

func TestIndexIsStaleUntilItIsUpdated(t *testing.T) {
	root := debian.Root(t)
	var got []string
	for _, version := range []string{"1", "2", "3"} {
		debian.Repository(t, root, debian.Deb{Name: "moving", Version: version})
		before := candidate(t, root)
		debian.UpdateIndex(t, root)
		got = append(got, before, candidate(t, root))
	}
	want := []string{"", "1", "1", "2", "2", "3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("candidates before and after each update (-want +got):\n%s", diff)
	}
}

// candidate is the version of the package "moving" that apt would install.
func candidate(t *testing.T, root string) string {
	t.Helper()
	for line := range strings.Lines(debian.Chroot(t, root, "apt-cache", "policy", "moving")) {
		if version, found := strings.CutPrefix(line, "  Candidate: "); found {
			return strings.TrimSpace(version)
		}
	}
	return ""
}

func TestPackagesDoNotStartServicesInARoot(t *testing.T) {
	root := debian.Root(t)
	debian.Repository(t, root, debian.Deb{
		Name: "daemon", Version: "1",
		Files: map[string]string{"/etc/init.d/daemon": "#!/bin/sh\ntouch /var/lib/daemon-started\n"},
		Scripts: map[string]string{
			"postinst": "#!/bin/sh\nset -e\nupdate-rc.d daemon defaults\ninvoke-rc.d daemon start || exit $?\n",
		},
	})
	debian.UpdateIndex(t, root)
	debian.Chroot(t, root, "apt-get", "install", "--yes", "daemon")

	if _, err := os.Stat(filepath.Join(root, "var/lib/daemon-started")); !os.IsNotExist(err) {
		t.Errorf("the package started its service in a chroot: %v", err)
	}
}
