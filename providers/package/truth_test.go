package pkg_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers/exec"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// These tests run the engine: what it reports is what the package database says.

// restarted is notified by Package/tree.
const restarted = `Exec/restarted {command: touch /srv/restarted, path: [/usr/bin, /bin], refreshOnly: true, subscribe: [Package/tree]}`

// run applies resources with the engine. Packages are one-line notations such as "Package/tree {ensure: latest}".
func (m machine) run(resources ...string) []string {
	m.t.Helper()
	return m.engine().Apply(m.t, resources...)
}

// plan is run in noop.
func (m machine) plan(resources ...string) []string {
	m.t.Helper()
	e := m.engine()
	e.Noop = true
	return e.Apply(m.t, resources...)
}

func (m machine) engine() enginetest.Machine {
	facts := resource.Facts{"os": map[string]any{"family": "Debian"}}
	return enginetest.Machine{Host: m.host, Facts: facts, Kinds: []resource.Kind{m.kind, bound.Kind(exec.Type())}}
}

// hasRestarted reports whether Exec/restarted has run.
func (m machine) hasRestarted() bool {
	m.t.Helper()
	return strings.Contains(debian.Chroot(m.t, m.root, "ls", "/srv"), "restarted")
}

// outdate makes the index older than its source.
func (m machine) outdate() { m.date("etc/apt/sources.list.d/tests.list", time.Hour) }

// countUpdates has apt-get count its updates.
func (m machine) countUpdates() (updates func() int) {
	m.put("etc/apt/apt.conf.d/99count", `APT::Update::Pre-Invoke { "echo >> /srv/updates"; };`)
	return func() int { return len(m.file("srv/updates")) }
}

const latestTree = `Package/tree {ensure: latest}`

func TestLatestWithAnIndexOlderThanItsSources(t *testing.T) {
	t.Parallel()

	const tests = "/etc/apt/sources.list.d/tests.list"
	for name, c := range map[string]struct {
		outdate    func(m machine)
		plan, want []string
		state      string
		restarts   bool
	}{
		"nothing is newer": {
			outdate: func(m machine) { m.outdate() },
			plan: []string{
				"Package/tree: ensure may change from 1.0 (noop) (unknown: apt's index is older than " + tests + ", and an apply updates it first)",
				"Exec/restarted: may be refreshed by 1 event (noop) (unknown: comes after Package/tree)",
			},
			state: "install ok installed 1.0",
		},
		"nothing is newer, and the index was deleted": {
			outdate: func(m machine) { debian.Chroot(m.t, m.root, "sh", "-c", "rm /var/lib/apt/lists/*_*") },
			plan: []string{
				"Package/tree: ensure may change from 1.0 (noop) (unknown: apt's index is older than /var/lib/apt/lists, and an apply updates it first)",
				"Exec/restarted: may be refreshed by 1 event (noop) (unknown: comes after Package/tree)",
			},
			state: "install ok installed 1.0",
		},
		"a version is newer": {
			outdate: func(m machine) { debian.Repository(m.t, m.root, deb("tree", "1.0"), deb("tree", "2.0")); m.outdate() },
			plan: []string{
				"Package/tree: ensure may change from 1.0 (noop) (unknown: apt's index is older than " + tests + ", and an apply updates it first)",
				"Exec/restarted: may be refreshed by 1 event (noop) (unknown: comes after Package/tree)",
			},
			want: []string{
				"Package/tree: output: installed version 2.0", "Package/tree: ensure changed 1.0 to 2.0", "Exec/restarted: refreshed by 1 event",
			},
			state: "install ok installed 2.0", restarts: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			m := newMachine(t, deb("tree", "1.0"))
			m.run("Package/tree {}")
			c.outdate(m)
			expect(t, c.plan, m.plan(latestTree, restarted))
			expect(t, c.want, m.run(latestTree, restarted))
			expect(t, []string{c.state}, m.states("tree"))
			if m.hasRestarted() != c.restarts {
				t.Errorf("what was notified ran: %v", m.hasRestarted())
			}
			expect(t, nil, m.plan(latestTree, restarted))
			expect(t, nil, m.run(latestTree, restarted))
		})
	}
}

// Whether the installed version is the latest stays unknown until the index can be updated.
func TestLatestFailsWithoutAnUpdate(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"), deb("bush", "1.0"))
	m.run("Package/tree {}")
	updates := m.countUpdates()
	m.put("etc/apt/sources.list.d/far.list", "deb file:/srv/nowhere ./\n")
	m.date("etc/apt/sources.list.d/far.list", time.Hour)

	// Package/bush is in another transaction, because Exec/first has to run before it.
	first := `Exec/first {command: "true", path: [/bin]}`
	for _, state := range []string{"created", "ensure changed"} {
		lines := m.run(latestTree, restarted, "Package/tar {}", first, "Package/bush {ensure: latest, require: [Exec/first]}")
		failed := 0
		for _, line := range lines {
			if strings.Contains(line, " failed: the latest version is unknown, because apt's index can't be updated (correct its sources, or ask for ensure: present): ") &&
				strings.Contains(line, "/srv/nowhere") {
				failed++
			}
			if strings.HasSuffix(line, state) || strings.HasPrefix(line, "Package/tar") {
				t.Errorf("reported %q", line)
			}
		}
		if failed != 2 {
			t.Errorf("reported %q", lines)
		}
	}
	if n := updates(); n != 2 || m.hasRestarted() {
		t.Errorf("updated %d times in two runs; what was notified ran: %v", n, m.hasRestarted())
	}
	expect(t, []string{"install ok installed 1.0", "install ok installed 1.0"}, m.states("tree", "bush"))
	m.put("etc/apt/sources.list.d/far.list", "")
	expect(t, nil, m.run(latestTree))
}

// The archive may offer other versions than the index that a run began with.
func TestEventNamesTheVersionThatWasInstalled(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		ensure      string
		publish     []debian.Deb
		want        []string
		state       string
		isRestarted bool
	}{
		"a newer one than the latest of the index": {
			"latest",
			[]debian.Deb{deb("tree", "3.0")},
			[]string{"Package/tree: output: installed version 3.0", "Package/tree: ensure changed 1.0 to 3.0", "Exec/restarted: refreshed by 1 event"},
			"install ok installed 3.0", true,
		},
		"another one of a range": {
			">=2.0 <3.0",
			[]debian.Deb{deb("tree", "2.5"), deb("tree", "3.0")},
			[]string{"Package/tree: output: installed version 2.5", "Package/tree: ensure changed 1.0 to 2.5", "Exec/restarted: refreshed by 1 event"},
			"install ok installed 2.5", true,
		},
		"none, because the newer one was withdrawn": {"latest", []debian.Deb{deb("tree", "1.0")}, nil, "install ok installed 1.0", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			m := newMachine(t, deb("tree", "1.0"), deb("tree", "2.0"))
			m.run(`Package/tree {ensure: "1.0"}`)
			m.publish(c.publish...)
			expect(t, c.want, m.run(`Package/tree {ensure: "`+c.ensure+`"}`, restarted))
			expect(t, []string{c.state}, m.states("tree"))
			if m.hasRestarted() != c.isRestarted {
				t.Errorf("what was notified ran: %v", m.hasRestarted())
			}
		})
	}
}

// Two packages that exclude each other can't both be there, whatever apt-get says of each.
func TestPackageThatAnotherRemovedWasNotInstalled(t *testing.T) {
	t.Parallel()

	rival := deb("rival", "1.0")
	rival.Fields = map[string]string{"Conflicts": "tree"}
	m := newMachine(t, deb("tree", "1.0"), rival)
	lines := m.run("Package/tree {}", "Package/rival {}", restarted)
	failures := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "Package/tree: created") {
			t.Errorf("reported %q", line)
		}
		if strings.HasPrefix(line, "Package/tree: the change did not take effect: ensure is absent, should be present") {
			failures++
		}
	}
	if failures != 1 || m.hasRestarted() {
		t.Errorf("what was notified ran: %v; reported %q", m.hasRestarted(), lines)
	}
}

// A mark is not the version.
func TestMarkIsChangedBesideALatestVersionThatIsNot(t *testing.T) {
	t.Parallel()

	m := newMachine(t, deb("tree", "1.0"))
	m.run("Package/tree {}")
	for _, step := range []struct{ mark, want, state string }{
		{"hold", "Package/tree: mark changed none to hold", "hold ok installed 1.0"},
		{"none", "Package/tree: mark changed hold to none", "install ok installed 1.0"},
	} {
		m.outdate()
		m.date("var/lib/apt/lists/partial", -time.Hour)
		resource := "Package/tree {ensure: latest, mark: " + step.mark + "}"
		plan := m.plan(resource)
		if len(plan) != 2 || plan[0] != "Package/tree: ensure may change from 1.0 (noop)" || !strings.HasPrefix(plan[1], step.want+" (noop) (unknown: ") {
			t.Errorf("the plan is %q", plan)
		}
		expect(t, []string{step.want}, m.run(resource))
		expect(t, []string{step.state}, m.states("tree"))
	}
}

// apt-get leaves out a version that is published in phases, unless it is asked for it by name.
func TestPhasedVersion(t *testing.T) {
	t.Parallel()

	phased := deb("tree", "2.0")
	phased.Fields = map[string]string{"Phased-Update-Percentage": "0"}
	m := newMachine(t, deb("tree", "1.0"), phased)
	m.run(`Package/tree {ensure: "1.0"}`)
	lines := m.run(latestTree)
	state := m.states("tree")[0]
	if changed := state == "install ok installed 2.0"; changed != (len(lines) > 0) {
		t.Errorf("it is %s, and %q was reported", state, lines)
	}
	expect(t, nil, m.run(latestTree))
}
