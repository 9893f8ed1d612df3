package rollout_test

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout"
)

// A world is a cluster: an API server with one RolloutPolicy, the machines of its nodes, and people who edit.
type world struct {
	random  *rand.Rand
	elapsed time.Duration // since noon
	edited  time.Duration // when something was edited last
	nodes   []*machine
	joined  int

	revisions []content // all different, as a revision is named by its content
	newest    int
	flaws     []flaw // by version
	limits    rollout.Policy
	policy    object
}

// An object is the RolloutPolicy as the API server stores it.
type object struct {
	status  v1alpha1.RolloutPolicyStatus
	paused  bool
	version int // resourceVersion
}

// groups of nodes. Each revision has a version of the content for each group, and nodes of a group have the same spec as long as
// that version is the same.
const groups = 3

type content [groups]int

// name returns the name of a revision, as managers write it.
func name(revision int) string { return "r" + strconv.Itoa(revision) }

// number returns the number of a revision with a name, -1 for none.
func number(name string) int {
	if name == "" {
		return -1
	}
	n, _ := strconv.Atoi(name[1:])
	return n
}

// A flaw is how a version breaks a share of the nodes some time after they have applied it.
type flaw struct {
	percent uint32
	after   time.Duration
	kind    symptom
}

type symptom int

const (
	healthy symptom = iota
	fail
	silence
	lostReady
	stuck // never applied
	symptoms
)

// A machine is a node. A copy is what a manager sees of it.
type machine struct {
	name, zone   string
	group        int
	controlPlane bool
	hash         uint32

	elsewhere bool // another policy has it
	leaving   bool
	disabled  bool
	noop      bool
	own       symptom // that no revision causes
	repaired  bool    // people have ended the silence that what it has causes

	revision  int // -1 before it has any
	recorded  time.Time
	created   bool // with its revision, and never moved
	writes    int  // resourceVersion of its NodeCatalog
	facts     int  // changes of facts, which change its spec
	applied   bool // what it has
	working   time.Duration
	done      time.Duration // when it applied what it has
	failing   time.Time     // since when, by the clock of the node
	notReady  time.Time
	silent    bool
	symptomOf bool // its symptom is what its version causes
}

func newWorld(random *rand.Rand) *world {
	w := &world{random: random, revisions: []content{{}}, flaws: []flaw{{}}}
	w.limits = randomPolicy(random)
	w.policy.status.Stable = name(0)
	size := 1 + random.IntN(6)
	if random.IntN(4) == 0 {
		size = 1 + random.IntN(20)
	}
	if random.IntN(50) == 0 {
		size = 1 + random.IntN(60)
	}
	for range size {
		w.join().revision = 0
	}
	return w
}

func (w *world) join() *machine {
	m := &machine{
		name: "n" + strconv.Itoa(w.joined), zone: strconv.Itoa(w.random.IntN(2)), group: w.random.IntN(groups),
		controlPlane: w.random.IntN(5) == 0, revision: -1, created: true, applied: true, noop: w.random.IntN(20) == 0,
	}
	h := fnv.New32a()
	h.Write([]byte(m.name))
	m.hash = h.Sum32() >> 8
	w.joined++
	w.nodes = append(w.nodes, m)
	return m
}

// clock returns the time by the clocks of nodes.
func (w *world) clock() time.Time { return noon.Add(w.elapsed) }

// edit adds a revision that differs in some groups. Some edits are bad.
func (w *world) edit() {
	next := w.revisions[w.newest]
	w.flaws = append(w.flaws, w.flaw())
	for g := range next {
		if w.random.IntN(2) == 0 {
			next[g] = len(w.flaws) - 1
		}
	}
	w.add(next)
}

// fix adds a revision in which nothing is bad.
func (w *world) fix() {
	w.flaws = append(w.flaws, flaw{})
	last := len(w.flaws) - 1
	w.add(content{last, last, last})
}

func (w *world) add(c content) {
	w.edited = w.elapsed
	if w.newest = slices.Index(w.revisions, c); w.newest < 0 {
		w.revisions = append(w.revisions, c)
		w.newest = len(w.revisions) - 1
	}
}

func (w *world) flaw() flaw {
	if w.random.IntN(3) > 0 {
		return flaw{}
	}
	return flaw{
		percent: []uint32{10, 50, 100}[w.random.IntN(3)], after: time.Duration(w.random.IntN(100)) * time.Second,
		kind: symptom(1 + w.random.IntN(int(symptoms)-1)),
	}
}

// symptom returns what is wrong with a node now.
func (w *world) symptom(m *machine) (is symptom, caused bool) {
	if m.revision < 0 {
		return m.own, false
	}
	version := w.revisions[m.revision][m.group]
	f := w.flaws[version]
	if f.kind == silence && m.repaired {
		return m.own, false
	}
	broken := (m.hash*31+uint32(version)*17)%100 < f.percent //nolint:gosec // small
	if broken && !m.noop && (f.kind == stuck || m.applied && w.elapsed >= m.done+f.after) {
		return f.kind, true
	}
	return m.own, false
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	w.elapsed += d
	for _, m := range w.nodes {
		w.update(m)
	}
}

func (w *world) update(m *machine) {
	is, caused := w.symptom(m)
	m.symptomOf = caused
	m.silent = is == silence
	since(&m.failing, is == fail, w.clock())
	since(&m.notReady, is == lostReady, w.clock())
	if !m.applied && !m.silent && !m.disabled && is != stuck && w.elapsed >= m.working {
		m.applied, m.done = true, w.elapsed
	}
}

func since(t *time.Time, on bool, now time.Time) {
	if !on {
		*t = time.Time{}
	} else if t.IsZero() {
		*t = now
	}
}

// assign gives a machine another spec to apply.
func (w *world) assign(m *machine) {
	m.repaired = false
	m.applied, m.working = false, w.elapsed+time.Duration(5+w.random.IntN(60))*time.Second
	w.update(m)
}

// move is a write of a NodeCatalog. It fails if the NodeCatalog is not the one that the writer has seen.
func (w *world) move(seen machine, revision int, at time.Time) bool {
	i := slices.IndexFunc(w.nodes, func(m *machine) bool { return m.name == seen.name })
	if i < 0 || w.nodes[i].writes != seen.writes {
		return false
	}
	m := w.nodes[i]
	differs := m.revision < 0 || w.revisions[m.revision][m.group] != w.revisions[revision][m.group]
	m.created = m.revision < 0
	m.revision, m.recorded = revision, at
	m.writes++
	if differs {
		w.assign(m)
	}
	return true
}

// event lets something happen.
func (w *world) event() {
	m := w.nodes[w.random.IntN(len(w.nodes))]
	switch w.random.IntN(16) {
	case 0, 1:
		m.own = symptom(w.random.IntN(int(stuck)))
	case 2, 3:
		m.own = healthy
	case 4:
		m.disabled = !m.disabled
	case 5:
		m.leaving = true
	case 6:
		w.remove(m)
	case 7:
		w.join()
	case 8:
		m.elsewhere = !m.elsewhere
		m.writes++ // the policy is recorded in the NodeCatalog
	case 9:
		w.moveElsewhere(m)
	case 10:
		w.policy.paused = !w.policy.paused
		w.policy.version++
	case 11:
		m.facts++
		w.assign(m)
	case 12:
		m.recorded = time.Time{}
		m.writes++
	default:
		w.people()
	}
	w.update(m)
}

// people edit, revert and fix.
func (w *world) people() {
	switch w.random.IntN(5) {
	case 0:
		w.fix()
	case 1:
		w.add(w.revisions[w.random.IntN(len(w.revisions))])
	default:
		w.edit()
	}
}

func (w *world) remove(m *machine) {
	if len(w.nodes) > 1 {
		w.nodes = slices.DeleteFunc(w.nodes, func(o *machine) bool { return o == m })
	}
}

// moveElsewhere has another policy move a node of its own.
func (w *world) moveElsewhere(m *machine) {
	if m.elsewhere && m.revision >= 0 {
		w.move(*m, w.random.IntN(len(w.revisions)), w.clock())
	}
}

// recover ends everything that could keep a rollout from being completed, but for what revisions cause. Nobody but people can
// repair an agent that its stable revision has silenced.
func (w *world) recover() {
	w.nodes = slices.DeleteFunc(w.nodes, func(m *machine) bool { return m.leaving })
	if len(w.nodes) == 0 {
		w.join()
	}
	for _, m := range w.nodes {
		if m.elsewhere {
			m.writes++
		}
		m.own, m.disabled, m.noop, m.elsewhere, m.repaired = healthy, false, false, false, true
		w.update(m)
	}
	w.policy.paused = false
	w.policy.version++
	w.fix()
}
