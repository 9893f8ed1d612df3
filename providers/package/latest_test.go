package pkg_test

import "testing"

func TestLatestFollowsPins(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"), deb("tree", "2.0"))
	m.put("etc/apt/preferences", "Package: tree\nPin: version 1.0\nPin-Priority: 1001\n")
	steps := []struct{ ensure, outcome, state string }{
		{"latest", "created", "install ok installed 1.0"},
		{"latest", "in sync", "install ok installed 1.0"},
		{"2.0", "ensure changed 1.0 to 2.0", "install ok installed 2.0"},
		{"latest", "ensure changed 2.0 to 1.0", "install ok installed 1.0"},
	}
	for _, step := range steps {
		outcome := m.apply(`{"name":"tree","ensure":"` + step.ensure + `"}`)
		expect(t, []string{step.ensure, step.outcome, step.state},
			[]string{step.ensure, outcome[0], m.states("tree")[0]})
	}
}

func TestLatestWithoutACandidate(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"), deb("tree", "2.0"))
	m.apply(`{"name":"tree","ensure":"1.0"}`)
	m.put("etc/apt/preferences", "Package: tree\nPin: version *\nPin-Priority: -1\n")
	expect(t, []string{"in sync"}, m.apply(`{"name":"tree","ensure":"latest"}`))
}
