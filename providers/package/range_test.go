package pkg_test

import "testing"

func TestRangesOfVersions(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"), deb("tree", "1.2~rc1-1"), deb("tree", "1.10-1"), deb("tree", "2.0"), deb("tree", "1:0.1"))
	steps := []struct{ attributes, outcome, state string }{
		{`"ensure":">=1.0 <2.0"`, "created", "install ok installed 1.10-1"},
		{`"ensure":">=1.0 <2.0"`, "in sync", "install ok installed 1.10-1"},
		{`"ensure":">1.9"`, "in sync", "install ok installed 1.10-1"},
		{`"ensure":"<1.2"`, "ensure changed 1.10-1 to 1.2~rc1-1", "install ok installed 1.2~rc1-1"},
		{`"ensure":">2.0"`, "ensure changed 1.2~rc1-1 to 1:0.1", "install ok installed 1:0.1"},
		{`"ensure":"<=2.0-0 >1.10"`, "ensure changed 1:0.1 to 2.0", "install ok installed 2.0"},
		{`"ensure":"=1.0-0","mark":"hold"`, "ensure changed 2.0 to 1.0", "hold ok installed 1.0"},
		{`"ensure":">=1.0 <2.0"`, "in sync", "hold ok installed 1.0"},
		{`"ensure":">1.0 <1.10"`, "ensure changed 1.0 to 1.2~rc1-1", "hold ok installed 1.2~rc1-1"},
		{
			`"ensure":">=3 <4"`, `version ">=3 <4" of package "tree" is not in apt's index, which has 1:0.1, 2.0, 1.10-1, 1.2~rc1-1, 1.0: ` +
				`ask for one of these, or add a source`,
			"hold ok installed 1.2~rc1-1",
		},
	}
	for _, step := range steps {
		outcome := m.apply(`{"name":"tree",` + step.attributes + `}`)
		expect(t, []string{step.attributes, step.outcome, step.state},
			[]string{step.attributes, outcome[0], m.states("tree")[0]})
	}
}
