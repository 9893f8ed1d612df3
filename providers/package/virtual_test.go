package pkg_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	pkg "github.com/fettle-dev/fettle/providers/package"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func provider(name, provides string) debian.Deb {
	d := deb(name, "1.0")
	d.Provides = provides
	return d
}

func TestAVirtualPackageIsNone(t *testing.T) {
	t.Parallel()

	m := newMachine(t, provider("elm", "tree"), provider("oak", "tree (= 2.0), wood"), deb("soil", "1.0"))
	expect(t, []string{
		`name "tree" is no package but what others provide: name one of elm, oak, or set allowVirtual`,
		`name "wood" is no package but what others provide: name one of oak, or set allowVirtual`,
		`package "leaf" is not in apt's index: check its name, or add a source that has it`,
		"created",
	}, m.apply(`{"name":"tree"}`, `{"name":"wood","allowVirtual":false,"ensure":"latest"}`, `{"name":"leaf"}`, `{"name":"soil"}`))

	m.apply(`{"name":"oak"}`)
	expect(t, []string{
		`name "tree" is no package but what others provide: name one of elm, oak, or set allowVirtual`, "in sync",
	}, m.apply(`{"name":"tree"}`, `{"name":"wood","ensure":"purged"}`))
}

func TestAVirtualPackageThatIsAllowed(t *testing.T) {
	t.Parallel()

	m := newMachine(t, provider("elm", "tree"), provider("oak", "tree (= 2.0), wood"), deb("oak", "2.0"), deb("real", "1.0"))
	steps := []struct{ attributes, outcome, state string }{
		{`"name":"wood","ensure":"purged"`, "in sync", ""},
		{`"name":"tree"`, `name "tree" is what several packages provide: name one of elm, oak`, ""},
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
	expect(t, []string{`name "tree" is what several packages provide: name the one that is to go, elm, oak`},
		m.apply(`{"name":"tree","allowVirtual":true,"ensure":"absent"}`))
	expect(t, []string{"install ok installed 1.0", "install ok installed 1.0"}, m.states("elm", "oak"))
}

const showpkgOutput = `Package: mail-transport-agent
Versions: 

Reverse Depends: 
  mutt,mail-transport-agent
Dependencies: 
Provides: 
Reverse Provides: 
postfix 3.7.11-0+deb12u1 (= )
postfix 3.7.10-0+deb12u1 (= )
exim4-daemon-light:i386 4.96-15+deb12u10 (= 1)
Package: nobody
Versions: 

Reverse Provides: 
`

func TestProviders(t *testing.T) {
	t.Parallel()

	want := map[string][]string{"mail-transport-agent": {"exim4-daemon-light:i386", "postfix"}}
	if diff := cmp.Diff(want, pkg.ParseProviders(showpkgOutput)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzParseProviders looks for panics, and for providers that could be taken for options.
func FuzzParseProviders(f *testing.F) {
	f.Add(showpkgOutput)
	f.Add("Reverse Provides: \n-y 1\nPackage: \n")
	f.Fuzz(func(t *testing.T, out string) {
		for name, providers := range pkg.ParseProviders(out) {
			for _, p := range providers {
				if p == "" || p[0] == '-' {
					t.Errorf("%q is provided by %q", name, p)
				}
			}
		}
	})
}
