package rollout_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A checker judges each write by what the writer had seen, and by its own log of earlier writes. It calls no decision under test.
type checker struct {
	world      *world
	violations []string
	completed  map[string]bool      // revisions
	failed     map[string]bool      // nodes that failed with the present target
	written    map[*manager]written // the last status of each manager
}

type written struct {
	goal      string
	admitting []string
}

func newChecker(w *world) *checker {
	return &checker{world: w, completed: map[string]bool{name(0): true}, failed: map[string]bool{}, written: map[*manager]written{}}
}

func (c *checker) report(format string, args ...any) {
	c.violations = append(c.violations, fmt.Sprintf("%s: ", c.world.elapsed)+fmt.Sprintf(format, args...))
}

func (c *checker) restarted(m *manager) { delete(c.written, m) }

// moved judges a write of a NodeCatalog.
func (c *checker) moved(m *manager, is move) {
	last, wrote := c.written[m]
	switch {
	case is.machine.revision < 0:
		if stable := m.view.object.status.Stable; name(is.revision) != stable {
			c.report("%s joins with %s instead of %s, which is stable", is.name, name(is.revision), stable)
		}
	case !wrote || !slices.Contains(last.admitting, is.name):
		c.report("%s is moved to %s without being admitted", is.name, name(is.revision))
	case name(is.revision) != last.goal:
		c.report("%s is moved to %s instead of %s", is.name, name(is.revision), last.goal)
	}
}

// An episode is the part of a rollout that a write concerns. At rest, target is "".
type episode struct {
	target       string
	started      time.Time
	begins, ends bool // with this write
}

// episodeOf returns what a write concerns, and the new records of the history, the latest first.
func episodeOf(before, after v1alpha1.RolloutPolicyStatus) (e episode, records []v1alpha1.RolloutRecord) {
	for _, r := range after.History {
		if len(before.History) > 0 && r == before.History[0] {
			break
		}
		records = append(records, r)
	}
	e = episode{target: after.Target, started: startOf(after)}
	if len(records) > 0 && records[0].Outcome == v1alpha1.RolloutCompleted {
		e = episode{target: records[0].Revision, started: records[0].Started.Time, ends: true}
	}
	e.begins = e.target != "" && (e.target != before.Target || !e.started.Equal(startOf(before)))
	return e, records
}

func startOf(s v1alpha1.RolloutPolicyStatus) time.Time {
	if s.Started == nil {
		return time.Time{}
	}
	return s.Started.Time
}

// wrote judges a write of the status.
func (c *checker) wrote(m *manager, object object, after v1alpha1.RolloutPolicyStatus) {
	before := object.status
	if m.view.object.version != object.version {
		c.report("a manager that has read another status writes one")
	}
	e, records := episodeOf(before, after)
	c.aim(m, object, after, e, records)
	a := c.audit(m, before, after, e)
	a.failures()
	a.admissions(object.paused)
	if e.ends {
		a.completion()
		c.completed[e.target] = true
	}
	c.written[m] = written{goalOf(after), after.Admitting}
}

func goalOf(s v1alpha1.RolloutPolicyStatus) string {
	if s.Target != "" {
		return s.Target
	}
	return s.Stable
}

// aim judges which revision is rolled out.
func (c *checker) aim(m *manager, object object, after v1alpha1.RolloutPolicyStatus, e episode, records []v1alpha1.RolloutRecord) {
	stable := object.status.Stable
	if e.ends {
		stable, records = e.target, withoutFormer(records[1:], object.status.Stable)
	}
	if after.Stable != stable {
		c.report("%s is stable instead of %s", after.Stable, stable)
	}
	c.replacement(m, object, e, records)
	if e.begins {
		c.failed = map[string]bool{}
		if newest := name(m.view.newest); e.target != newest || m.view.at-m.view.edited < 10*time.Second {
			c.report("the rollout of %s begins, %s after an edit; %s is the newest", e.target, m.view.at-m.view.edited, newest)
		}
	}
}

// replacement judges whether a target is replaced, and the records of that.
func (c *checker) replacement(m *manager, object object, e episode, records []v1alpha1.RolloutRecord) {
	target := object.status.Target
	if replaced := target != "" && (e.begins || e.target == ""); !replaced {
		if len(records) > 0 {
			c.report("records of rollouts that have not ended: %v", records)
		}
		return
	}
	if len(records) != 1 || records[0].Revision != target || !e.begins {
		c.report("%s is replaced by %q with the records %v", target, e.target, records)
	}
	if !c.replaceable(m, object, e.target) {
		c.report("%s is replaced by %s, which should wait: %+v", target, e.target, object.status.Nodes)
	}
}

// replaceable reports whether a target may be replaced now.
func (c *checker) replaceable(m *manager, object object, by string) bool {
	s := object.status
	n := s.Nodes
	nobody := len(s.Admitting) == 0 && n.Proven == 0 && n.Admitted <= n.Failed
	return object.paused || by == s.Stable || nobody || len(c.failed) > m.limits.MaxFailedOf(int(n.Admitted)) || c.fixes(s, by)
}

// fixes reports whether a revision changes what a target changed.
func (c *checker) fixes(s v1alpha1.RolloutPolicyStatus, by string) bool {
	stable, target, next := c.world.revisions[number(s.Stable)], c.world.revisions[number(s.Target)], c.world.revisions[number(by)]
	for g := range groups {
		if stable[g] != target[g] && target[g] != next[g] {
			return true
		}
	}
	return false
}

// An audit judges the nodes of one write.
type audit struct {
	*checker
	episode
	manager       *manager
	before, after v1alpha1.RolloutPolicyStatus
	goal, stable  content
	now           time.Time
}

func (c *checker) audit(m *manager, before, after v1alpha1.RolloutPolicyStatus, e episode) audit {
	a := audit{checker: c, episode: e, manager: m, before: before, after: after, now: m.now()}
	a.stable = c.world.revisions[number(before.Stable)]
	if a.goal = a.stable; e.target != "" {
		a.goal = c.world.revisions[number(e.target)]
	}
	return a
}

func (a audit) atGoal(n machine) bool { return a.version(n) == a.goal[n.group] }

func (a audit) version(n machine) int {
	if n.revision < 0 {
		return a.stable[n.group]
	}
	return a.world.revisions[n.revision][n.group]
}

func (a audit) affected(n machine) bool {
	return a.goal[n.group] != a.stable[n.group] || !a.atGoal(n)
}

func (a audit) abandoned(n machine) bool {
	return !a.atGoal(n) && a.version(n) != a.stable[n.group]
}

// counts reports whether the goal makes, or has made, a difference to a node.
func (a audit) counts(n machine) bool {
	if a.affected(n) {
		return true
	}
	if n.created || n.revision < 0 {
		return false
	}
	isOpen := a.verdict(n) == open
	switch {
	case n.recorded.IsZero():
		return isOpen
	case a.target != "":
		return !n.recorded.Before(a.started)
	}
	return isOpen && n.recorded.Add(a.manager.limits.Timeout+a.manager.limits.Soak).After(a.now)
}

func (a audit) verdict(n machine) verdict { return a.manager.seen.verdict(n, a.manager.limits, a.now) }

func (a audit) hasFailed(n machine) bool { return a.target != "" && a.failed[n.name] }

// failures judges which nodes are recorded as failed.
func (a audit) failures() {
	if a.target == "" {
		return
	}
	for _, f := range a.after.Failures {
		if !a.failed[f.Node] && !a.justified(f.Node) {
			a.report("%s is said to have failed with %s", f.Node, a.target)
		}
		a.failed[f.Node] = true
	}
	for _, n := range a.manager.view.nodes {
		if a.atGoal(n) && a.counts(n) && a.verdict(n) == broken && !a.failed[n.name] {
			a.report("nobody notices that %s has failed with %s", n.name, a.target)
		}
	}
	if int(a.after.Nodes.Failed) != len(a.failed) {
		a.report("%d failures are recorded, and there were %d", a.after.Nodes.Failed, len(a.failed))
	}
}

func (a audit) justified(node string) bool {
	return slices.ContainsFunc(a.manager.view.nodes, func(n machine) bool {
		return n.name == node && a.atGoal(n) && a.counts(n) && a.verdict(n) == broken
	})
}

// tally has numbers of nodes: inFlight and controlPlane with those that a write admits, others without them.
type tally struct{ affected, inFlight, others, proven, controlPlane, healthy int }

func (a audit) tally() (t tally) {
	for _, n := range a.manager.view.nodes {
		if !a.counts(n) {
			continue
		}
		t.affected++
		switch admitting := slices.Contains(a.after.Admitting, n.name); {
		case a.hasFailed(n):
			if n.controlPlane && a.verdict(n) == broken {
				t.controlPlane++
			}
		case a.inFlight(n, admitting):
			t.inFlight++
			if n.controlPlane {
				t.controlPlane++
			}
		case a.atGoal(n) && a.verdict(n) == good:
			t.proven++
		case !a.atGoal(n) && !unheard(n) && (well(n) || a.abandoned(n)):
			t.healthy++
		}
	}
	return t
}

func (a audit) inFlight(n machine, admitting bool) bool {
	if a.atGoal(n) {
		return a.verdict(n) == open
	}
	return admitting && !a.follows(n)
}

// follows reports whether a node does not count while it is admitted.
func (a audit) follows(n machine) bool { return unheard(n) && (a.target == "" || a.abandoned(n)) }

func unheard(n machine) bool { return n.silent || n.disabled || n.leaving || n.revision < 0 }

func well(n machine) bool { return n.failing.IsZero() && n.notReady.IsZero() }

// admissions judges which nodes are admitted.
func (a audit) admissions(paused bool) {
	var old []string
	if !a.begins {
		old = a.before.Admitting
	}
	a.dropped(old)
	admitted := without(a.after.Admitting, old)
	if len(admitted) == 0 {
		return
	}
	if paused || a.ends {
		a.report("%v are admitted to %s: paused %t, completed %t", admitted, a.target, paused, a.ends)
	}
	t := a.tally()
	t.others = t.inFlight - a.heard(admitted)
	for _, name := range admitted {
		a.admission(name, t)
	}
	if t.inFlight > t.others {
		a.limits(t)
	}
}

// limits judges an admission by the inequalities.
func (a audit) limits(t tally) {
	p, failed := a.manager.limits, 0
	if a.target != "" {
		failed = len(a.failed)
	}
	before := t.others + t.proven + failed
	all := t.inFlight + t.proven + failed
	if t.inFlight > p.MaxInFlightOf(t.affected) {
		a.report("%+v are in flight, at most %d may be", t, p.MaxInFlightOf(t.affected))
	}
	if failed > p.MaxFailedOf(before) {
		a.report("nodes are admitted after %d failures: %+v", failed, t)
	}
	goal := goalOf(a.after)
	if limit := max(p.FirstOf(t.affected)+failed, 4*t.proven); !a.completed[goal] && all > limit {
		a.report("%d nodes are admitted to %s, at most %d may be: %+v", all, goal, limit, t)
	}
}

func (a audit) heard(names []string) (n int) {
	for _, m := range a.manager.view.nodes {
		if slices.Contains(names, m.name) && !a.follows(m) {
			n++
		}
	}
	return n
}

// admission judges the admission of one node.
func (a audit) admission(name string, t tally) {
	i := slices.IndexFunc(a.manager.view.nodes, func(n machine) bool { return n.name == name })
	if i < 0 {
		a.report("%s is admitted, which the policy does not have", name)
		return
	}
	n := a.manager.view.nodes[i]
	switch {
	case a.atGoal(n) || !a.affected(n):
		a.report("%s is admitted, and does not need it", name)
	case n.controlPlane && t.controlPlane > 1:
		a.report("%s is admitted, one of %d nodes of the control plane that may be down", name, t.controlPlane)
	case a.target == "":
	case unheard(n) && !(a.abandoned(n) && (a.completed[a.target] || t.healthy == 0 && t.proven == 0 && t.others == 0)):
		a.report("%s is admitted, and nobody hears it", name)
	case !well(n) && !a.abandoned(n) && (t.proven > 0 || t.healthy > 0 || t.others > 0):
		a.report("%s is admitted, and was not well before: %+v", name, t)
	}
}

// dropped judges which nodes are not waited for any longer. At rest, a node that has the pending revision stays there.
func (a audit) dropped(old []string) {
	for _, gone := range without(old, a.after.Admitting) {
		if slices.ContainsFunc(a.manager.view.nodes, func(n machine) bool {
			ahead := a.target == "" && n.revision >= 0 && name(n.revision) == a.after.Pending
			return n.name == gone && n.revision >= 0 && !a.atGoal(n) && a.affected(n) && !ahead
		}) {
			a.report("%s was admitted, and is not any more", gone)
		}
	}
}

// completion judges the end of a rollout.
func (a audit) completion() {
	t := a.tally()
	if t.inFlight > 0 || t.healthy > 0 || len(a.failed) > a.manager.limits.MaxFailedOf(t.proven+len(a.failed)) {
		a.report("%s is completed with %d failures: %+v", a.target, len(a.failed), t)
	}
	if t.proven == 0 && t.affected > 0 {
		a.report("%s is completed, and no node has proven it: %+v", a.target, t)
	}
}

func without(all, others []string) (rest []string) {
	for _, name := range all {
		if !slices.Contains(others, name) {
			rest = append(rest, name)
		}
	}
	return rest
}

// withoutFormer leaves out the record of the revision that was stable before, which has not been rolled out.
func withoutFormer(records []v1alpha1.RolloutRecord, stable string) []v1alpha1.RolloutRecord {
	if len(records) > 0 && records[0].Revision == stable && records[0].Outcome == v1alpha1.RolloutCompleted && records[0].Started.Equal(&records[0].Ended) {
		return records[1:]
	}
	return records
}
