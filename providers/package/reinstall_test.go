package pkg_test

import (
	"errors"
	"testing"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// refresh reads a package and refreshes it. It returns "refreshed", "nothing
// to refresh" or the error.
func (m machine) refresh(attributes string) string {
	m.t.Helper()
	err := m.read(attributes)[0].Refresh(m.t.Context(), resourcetest.Writer(m.host))
	switch {
	case err == nil:
		return "refreshed"
	case errors.Is(err, resource.ErrNothingToRefresh):
		return "nothing to refresh"
	default:
		return err.Error()
	}
}

// owned returns a package with a file that is not a configuration file.
func owned(version string) debian.Deb {
	return debian.Deb{Name: "tree", Version: version, Files: map[string]string{"/usr/share/tree": "version " + version + "\n"}}
}

func TestReinstallOnRefresh(t *testing.T) {
	t.Parallel()

	m := newMachine(t, owned("1.0"), owned("2.0"), provider("oak", "wood"))
	m.export("tree_0.deb", "srv/tree.deb")
	m.apply(`{"name":"tree","ensure":"1.0","mark":"hold"}`, `{"name":"oak"}`)
	steps := []struct{ attributes, outcome, state, content string }{
		{`"name":"tree"`, "nothing to refresh", "hold ok installed 1.0", "damaged"},
		{`"name":"tree","reinstallOnRefresh":false`, "nothing to refresh", "hold ok installed 1.0", "damaged"},
		{`"name":"tree","reinstallOnRefresh":true,"ensure":"absent"`, "nothing to refresh", "hold ok installed 1.0", "damaged"},
		{`"name":"tree","reinstallOnRefresh":true,"ensure":"purged"`, "nothing to refresh", "hold ok installed 1.0", "damaged"},
		{`"name":"leaf","reinstallOnRefresh":true`, "nothing to refresh", "hold ok installed 1.0", "damaged"},
		{`"name":"tree","reinstallOnRefresh":true`, "refreshed", "hold ok installed 1.0", "version 1.0\n"},
		{`"name":"tree","reinstallOnRefresh":true,"mark":"none","source":"/srv/tree.deb"`, "refreshed", "install ok installed 1.0", "version 1.0\n"},
		{`"name":"wood","reinstallOnRefresh":true,"allowVirtual":true`, "refreshed", "install ok installed 1.0", "damaged"},
	}
	for _, step := range steps {
		m.put("usr/share/tree", "damaged")
		outcome := m.refresh("{" + step.attributes + "}")
		expect(t, []string{step.attributes, step.outcome, step.state, step.content},
			[]string{step.attributes, outcome, m.states("tree")[0], m.file("usr/share/tree")})
	}
}

func TestReinstallOfAnUnavailableVersionFails(t *testing.T) {
	t.Parallel()

	m := newMachine(t, owned("1.0"))
	m.apply(`{"name":"tree","mark":"hold"}`)
	debian.Repository(t, m.root, owned("2.0"))
	m.put("usr/share/tree", "damaged")

	outcome := m.refresh(`{"name":"tree","reinstallOnRefresh":true}`)
	expect(t, []string{`cannot reinstall package "tree=1.0": Reinstallation of tree is not possible, it cannot be downloaded.`}, []string{outcome})
	expect(t, []string{"hold ok installed 1.0", "damaged"}, append(m.states("tree"), m.file("usr/share/tree")))
}
