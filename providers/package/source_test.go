package pkg_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// export copies a package of the repository to a source path, as a new version.
func (m machine) export(file, source string) {
	m.t.Helper()
	content, err := os.ReadFile(filepath.Join(m.root, "srv/repository", file))
	if err != nil {
		m.t.Fatal(err)
	}
	m.put(source, string(content))
}

func TestPackageFromSource(t *testing.T) {
	t.Parallel()

	needy := deb("tree", "1.0")
	needy.Depends = "soil"
	m := newMachine(t, needy, deb("tree", "2.0"), deb("tree", "3.0"), deb("soil", "1.0"))
	steps := []struct{ file, attributes, outcome, state string }{
		{"tree_0.deb", ``, "created", "install ok installed 1.0"},
		{"tree_1.deb", ``, "in sync", "install ok installed 1.0"},
		{"tree_1.deb", `,"ensure":"latest"`, "ensure changed 1.0 to 2.0", "install ok installed 2.0"},
		{"tree_1.deb", `,"ensure":"latest"`, "in sync", "install ok installed 2.0"},
		{"tree_0.deb", `,"ensure":"1.0"`, "ensure changed 2.0 to 1.0", "install ok installed 1.0"},
		{"tree_1.deb", `,"ensure":">=2","mark":"hold"`, "ensure changed 1.0 to 2.0", "hold ok installed 2.0"},
		{"tree_0.deb", `,"ensure":"latest"`, "ensure changed 2.0 to 1.0", "hold ok installed 1.0"},
		{
			"tree_1.deb", `,"ensure":"3.0"`,
			`source "/srv/tree.deb" is version "2.0" of the package, which ensure "3.0" does not allow: correct source or ensure`,
			"hold ok installed 1.0",
		},
		{
			"soil_3.deb", `,"ensure":"latest"`, `source "/srv/tree.deb" is the package "soil", not "tree": correct source or name`,
			"hold ok installed 1.0",
		},
		{"tree_0.deb", `,"ensure":"purged"`, "purged", ""},
	}
	for _, step := range steps {
		m.export(step.file, "srv/tree.deb")
		outcome := m.apply(`{"name":"tree","source":"/srv/tree.deb"` + step.attributes + `}`)
		expect(t, []string{step.file, step.attributes, step.outcome, step.state},
			[]string{step.file, step.attributes, outcome[0], m.states("tree")[0]})
	}
	expect(t, []string{"install ok installed 1.0"}, m.states("soil"))
}

// The index may have another build of the same version.
func TestSourceTakesPrecedenceOverTheIndex(t *testing.T) {
	t.Parallel()

	indexed := owned("1.0")
	indexed.Fields = map[string]string{"Installed-Size": "7"} // by which apt tells builds apart
	indexed.Files = map[string]string{"/usr/share/tree": "that of the index\n"}
	m := newMachine(t, owned("1.0"))
	m.export("tree_0.deb", "srv/tree.deb")
	debian.Repository(t, m.root, indexed)
	debian.UpdateIndex(t, m.root)

	expect(t, []string{"created"}, m.apply(`{"name":"tree","source":"/srv/tree.deb"}`))
	expect(t, []string{"version 1.0\n"}, []string{m.file("usr/share/tree")})
}

func TestInvalidSourceFailsAlone(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"), deb("soil", "1.0"))
	m.put("srv/torn.deb", "torn")
	if err := unix.Mkfifo(filepath.Join(m.root, "srv/fifo.deb"), 0o600); err != nil {
		t.Fatal(err)
	}

	outcomes := m.apply(`{"name":"tree","source":"/srv/torn.deb"}`, `{"name":"leaf","source":"/srv/gone.deb","ensure":"latest"}`,
		`{"name":"tar","source":"/srv/gone.deb","ensure":"latest"}`, `{"name":"soil"}`, `{"name":"bark","source":"/srv/fifo.deb"}`)
	for i, want := range []string{
		`cannot read source "/srv/torn.deb": dpkg-deb: error: `,
		`cannot read source "/srv/gone.deb": dpkg-deb: error: failed to read archive '/srv/gone.deb': No such file or directory`,
		`cannot read source "/srv/gone.deb": dpkg-deb: error: failed to read archive '/srv/gone.deb': No such file or directory`,
		"created",
		`source "/srv/fifo.deb" is not a regular file: use the path of a package file`,
	} {
		if !strings.HasPrefix(outcomes[i], want) {
			t.Errorf("outcome is %q, not %q", outcomes[i], want)
		}
	}
	expect(t, []string{"", "", "install ok installed 1.0"}, m.states("tree", "leaf", "soil"))
}

func TestSourceOfAnotherArchitecture(t *testing.T) {
	t.Parallel()

	lib := debian.Deb{Name: "lib", Version: "1.0", Fields: map[string]string{"Architecture": "i386"}}
	m := newMachine(t, lib)
	debian.Chroot(t, m.root, "dpkg", "--add-architecture", "i386")
	m.date("etc/apt/sources.list.d/tests.list", 0)
	m.export("lib_0.deb", "srv/lib.deb")

	expect(t, []string{
		`source "/srv/lib.deb" is the package "lib:i386", not "lib": correct source or name`, "created",
	}, m.apply(`{"name":"lib","source":"/srv/lib.deb"}`, `{"name":"lib:i386","source":"/srv/lib.deb"}`))
}
