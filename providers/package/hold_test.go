package pkg_test

import (
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func TestMark(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"), deb("tree", "2.0"))
	steps := []struct{ attributes, outcome, state string }{
		{`"ensure":"1.0","mark":"hold"`, "created", "hold ok installed 1.0"},
		{`"ensure":"1.0","mark":"hold"`, "in sync", "hold ok installed 1.0"},
		{`"mark":"none"`, "mark changed hold to none", "install ok installed 1.0"},
		{`"mark":"hold"`, "mark changed none to hold", "hold ok installed 1.0"},
		{`"ensure":"latest"`, "ensure changed 1.0 to 2.0", "hold ok installed 2.0"},
		{`"ensure":"1.0","mark":"none"`, "ensure changed 2.0 to 1.0", "install ok installed 1.0"},
		{`"ensure":"latest","mark":"hold"`, "ensure changed 1.0 to 2.0", "hold ok installed 2.0"},
		{`"ensure":"absent"`, "removed", "deinstall ok config-files 2.0"},
		{`"mark":"hold"`, "created", "hold ok installed 2.0"},
		{`"ensure":"purged"`, "purged", ""},
	}
	for _, step := range steps {
		outcome := m.apply(`{"name":"tree",` + step.attributes + `}`)
		expect(t, []string{step.attributes, step.outcome, step.state},
			[]string{step.attributes, outcome[0], m.states("tree")[0]})
	}
}

func TestPackagesAreHeldAgainAfterAFailure(t *testing.T) {
	t.Parallel()

	broken := deb("tree", "2.0")
	broken.Scripts = map[string]string{"preinst": "#!/bin/sh\nexit 1\n"}
	m := newMachine(t, deb("tree", "1.0"), broken)
	m.apply(`{"name":"tree","ensure":"1.0","mark":"hold"}`)

	if outcome := m.apply(`{"name":"tree","ensure":"2.0"}`)[0]; !strings.Contains(outcome, `cannot install package "tree=2.0"`) {
		t.Errorf("a preinst that fails gave: %s", outcome)
	}
	expect(t, []string{"hold ok installed 1.0"}, m.states("tree"))
}

// Packages held by others stay unchanged, even if a transaction could use another
// version of it.
func TestOtherHeldPackagesAreNotChanged(t *testing.T) {
	t.Parallel()

	user := deb("user", "1.0")
	user.Depends = "library (>= 2.0)"
	m := newMachine(t, deb("library", "1.0"), deb("library", "2.0"), user)
	m.apply(`{"name":"library","ensure":"1.0","mark":"hold"}`)

	if outcome := m.apply(`{"name":"user"}`)[0]; !strings.Contains(outcome, "held") {
		t.Errorf("an installation that needs another version of a held package gave: %s", outcome)
	}
	expect(t, []string{"hold ok installed 1.0", ""}, m.states("library", "user"))
}

func TestInstalledPackagesAreMarkedManual(t *testing.T) {
	t.Parallel()

	user := deb("user", "1.0")
	user.Depends = "library"
	m := newMachine(t, deb("library", "1.0"), user, deb("other", "1.0"))
	m.apply(`{"name":"user"}`, `{"name":"other"}`)

	manual := debian.Chroot(t, m.root, "apt-mark", "showmanual", "user", "library", "other")
	expect(t, []string{"other", "user"}, strings.Fields(manual))
}
