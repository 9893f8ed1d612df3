package pkg_test

import (
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// lethal returns a package whose first installation kills dpkg during unpacking.
func lethal(name, version string) debian.Deb {
	d := deb(name, version)
	d.Scripts = map[string]string{"preinst": "#!/bin/sh\nset -e\nif [ ! -e /killed ]; then touch /killed; kill -9 $PPID; fi\n"}
	return d
}

// damage has dpkg killed during an upgrade to tree 2.0.
func (m machine) damage() {
	m.t.Helper()
	m.export("tree_1.deb", "srv/tree.deb")
	m.apply(`{"name":"tree","ensure":"1.0"}`)
	outcome := m.apply(`{"name":"tree","ensure":"2.0"}`)[0]
	if !strings.Contains(outcome, "Sub-process /usr/bin/dpkg received signal 9") && !strings.Contains(outcome, "dpkg exited unexpectedly") {
		m.t.Fatalf("the installation should fail for dpkg's end: %s", outcome)
	}
	expect(m.t, []string{"install reinstreq half-installed 1.0"}, m.states("tree"))
}

func TestADamagedPackageIsRepaired(t *testing.T) {
	t.Parallel()

	for attributes, want := range map[string]struct{ outcome, state string }{
		``:                   {"ensure changed damaged to present", "install ok installed 2.0"},
		`,"ensure":"1.0"`:    {"ensure changed damaged to 1.0", "install ok installed 1.0"},
		`,"ensure":"2.0"`:    {"ensure changed damaged to 2.0", "install ok installed 2.0"},
		`,"ensure":"<2"`:     {"ensure changed damaged to 1.0", "install ok installed 1.0"},
		`,"ensure":"latest"`: {"ensure changed damaged to 2.0", "install ok installed 2.0"},
		`,"ensure":"absent"`: {"removed", "deinstall ok config-files 1.0"},
		`,"ensure":"purged"`: {"purged", ""},
		`,"mark":"hold"`:     {"ensure changed damaged to present", "hold ok installed 2.0"},
		`,"source":"/srv/tree.deb","ensure":"latest"`: {"ensure changed damaged to 2.0", "install ok installed 2.0"},
	} {
		t.Run(attributes, func(t *testing.T) {
			t.Parallel()

			m := newMachine(t, deb("tree", "1.0"), lethal("tree", "2.0"), deb("other", "1.0"))
			m.damage()
			tree := `{"name":"tree"` + attributes + `}`
			expect(t, []string{"created", want.outcome}, m.apply(`{"name":"other"}`, tree))
			expect(t, []string{"install ok installed 1.0", want.state}, m.states("other", "tree"))
			expect(t, []string{"in sync"}, m.apply(tree))
		})
	}
}

// Without the package file, apt-get does nothing at all.
func TestDamagedPackageThatIsNotInTheIndex(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"), lethal("tree", "2.0"))
	m.damage()
	debian.Repository(t, m.root, deb("other", "1.0"))
	debian.UpdateIndex(t, m.root)

	if err := m.read(`{"name":"tree"}`)[0].Read(t.Context(), resourcetest.Reader(m.host)); err != nil {
		t.Errorf("to read it gave %v", err)
	}
	const why = "E: The package tree needs to be reinstalled, but I can't find an archive for it."
	expect(t, []string{`cannot reinstall package "tree": ` + why}, m.apply(`{"name":"tree"}`))
	expect(t, []string{"created", "ensure changed damaged to present"}, m.apply(`{"name":"other"}`, `{"name":"tree","source":"/srv/tree.deb"}`))
	expect(t, []string{"install ok installed 1.0", "install ok installed 2.0"}, m.states("other", "tree"))
}
