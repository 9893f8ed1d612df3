package pkg_test

import (
	"testing"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func provider(name, provides string) debian.Deb {
	d := deb(name, "1.0")
	d.Provides = provides
	return d
}

func TestVirtualPackagesAreRejected(t *testing.T) {
	t.Parallel()

	m := newMachine(t, provider("elm", "tree"), provider("oak", "tree (= 2.0), wood"), deb("soil", "1.0"))
	expect(t, []string{
		`name "tree" is a virtual package: name one of its providers elm, oak, or set allowVirtual`,
		`name "wood" is a virtual package: name one of its providers oak, or set allowVirtual`,
		`package "leaf" is not in apt's index: check its name, or add a source that has it`,
		"created",
	}, m.apply(`{"name":"tree"}`, `{"name":"wood","allowVirtual":false,"ensure":"latest"}`, `{"name":"leaf"}`, `{"name":"soil"}`))

	m.apply(`{"name":"oak"}`)
	expect(t, []string{
		`name "tree" is a virtual package: name one of its providers elm, oak, or set allowVirtual`, "in sync",
	}, m.apply(`{"name":"tree"}`, `{"name":"wood","ensure":"purged"}`))
}

func TestAllowVirtual(t *testing.T) {
	t.Parallel()

	m := newMachine(t, provider("elm", "tree"), provider("oak", "tree (= 2.0), wood"), deb("oak", "2.0"), deb("real", "1.0"))
	steps := []struct{ attributes, outcome, state string }{
		{`"name":"wood","ensure":"purged"`, "in sync", ""},
		{`"name":"tree"`, `name "tree" is a virtual package with several providers: name one of elm, oak`, ""},
		{`"name":"wood","ensure":"1.0","mark":"hold"`, "created", "hold ok installed 1.0"},
		{`"name":"wood","mark":"hold"`, "in sync", "hold ok installed 1.0"},
		{`"name":"tree"`, "in sync", "hold ok installed 1.0"},
		{`"name":"tree","mark":"none"`, "mark changed hold to none", "install ok installed 1.0"},
		{`"name":"tree","mark":"hold"`, "mark changed none to hold", "hold ok installed 1.0"},
		{`"name":"tree","ensure":"absent"`, "removed", "deinstall ok config-files 1.0"},
		{`"name":"tree","ensure":"absent"`, "in sync", "deinstall ok config-files 1.0"},
		{`"name":"real"`, "created", "deinstall ok config-files 1.0"},
	}
	for _, step := range steps {
		outcome := m.apply(`{"allowVirtual":true,` + step.attributes + `}`)
		expect(t, []string{step.attributes, step.outcome, step.state},
			[]string{step.attributes, outcome[0], m.states("oak")[0]})
	}

	expect(t, []string{"created", "created"}, m.apply(`{"name":"elm"}`, `{"name":"oak","ensure":"1.0"}`))
	expect(t, []string{`name "tree" is a virtual package with several providers: name the one to remove, elm, oak`},
		m.apply(`{"name":"tree","allowVirtual":true,"ensure":"absent"}`))
	expect(t, []string{"install ok installed 1.0", "install ok installed 1.0"}, m.states("elm", "oak"))
}
