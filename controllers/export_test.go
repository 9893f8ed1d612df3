package controllers

import (
	"time"

	dto "github.com/prometheus/client_model/go"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
)

// Invalidate does what a watch does when something that is compiled has changed.
func (r *Fleet) Invalidate() { r.outdated.Store(true) }

// SeeChange does what a watch does when people have changed something.
func (r *Fleet) SeeChange() {
	r.burst.note(r.Clock.Now())
	r.Invalidate()
}

// NewStatus is the status that counts, samples and problems come to.
func NewStatus(counts v1alpha1.NodeCounts, samples []v1alpha1.NodeSample, problems []compiler.Problem, before v1alpha1.ResourceStatus, now metav1.Time) v1alpha1.ResourceStatus {
	return newStatus(outcome{generation: 1, gathering: gathering{counts: counts, samples: samples}, problems: problems}, before, now)
}

// NewStatusOfSilent is NewStatus where so many of the unknown had yet to apply it.
func NewStatusOfSilent(counts v1alpha1.NodeCounts, unapplied int32) v1alpha1.ResourceStatus {
	return newStatus(outcome{generation: 1, gathering: gathering{counts: counts, unapplied: unapplied}}, v1alpha1.ResourceStatus{}, metav1.Time{})
}

// NewStatusOfDeleted is NewStatus where a deletion waits for some nodes, in words.
func NewStatusOfDeleted(counts v1alpha1.NodeCounts, waitsFor string, now metav1.Time) v1alpha1.ResourceStatus {
	return newStatus(outcome{generation: 2, gathering: gathering{counts: counts}, cleaning: waitsFor}, v1alpha1.ResourceStatus{AppliedGeneration: 1}, now)
}

// ResourceEvents are the transitions of a resource, as "Type Reason note".
func ResourceEvents(before, now v1alpha1.ResourceStatus) []string {
	return lines(resourceEvents(before, now))
}

// NodeEvents are the transitions of a node, as "Type Reason note".
func NodeEvents(before, now v1alpha1.NodeCatalogStatus) []string {
	return lines(nodeEvents(before, now))
}

// EmittedOfNode are the events that a recorder gets of the transitions of a node.
func EmittedOfNode(before, now v1alpha1.NodeCatalogStatus) []string {
	all := nodeEvents(before, now)
	recorder := events.NewFakeRecorder(len(all))
	emit(recorder, &v1alpha1.NodeCatalog{}, all)
	close(recorder.Events)
	var out []string
	for e := range recorder.Events {
		out = append(out, e)
	}
	return out
}

func lines(all []occurrence) []string {
	var out []string
	for _, o := range all {
		out = append(out, o.kind+" "+o.reason+" "+o.note)
	}
	return out
}

// Silent reports whether a node's agent is silent now, and NextSilence when one will be.
func (r *Fleet) Silent(node string) bool { return r.leases.silent(node, r.Clock.Now()) }

// NextSilence is how long it takes until a node becomes silent; 0 if none can.
func (r *Fleet) NextSilence() time.Duration { return r.leases.next(r.Clock.Now()) }

// SeeLease does what a watch does when there is a Lease, or another one, and reports
// whether it asks for a pass.
func (r *Fleet) SeeLease(l *coordinationv1.Lease) bool { return r.leases.note(l, r.Clock.Now()) }

// Listen lets silence of the API server excuse that of nodes.
func (r *Fleet) Listen(c *Contact) { r.leases.lost = c.lost }

// Answer notes whether the API server answered.
func (c *Contact) Answer(ok bool) { c.note(c.Clock.Now(), ok) }

// A Sight is what a manager knows of a node beside what that reports.
type Sight struct {
	All               bool                 // it has yet to apply all
	Some              v1alpha1.ResourceRef // it has yet to apply this
	Had, Held, Silent bool
}

// Remnant is how a resource that is being deleted still is on a node; "" for not at all.
func Remnant(ref v1alpha1.ResourceRef, node v1alpha1.NodeCatalogStatus, s Sight) (v1alpha1.ResourceState, string) {
	is := remnant(ref, node, sight{progress{all: s.All, some: map[v1alpha1.ResourceRef]bool{s.Some: true}}, s.Had, s.Held, s.Silent})
	return is.ResourceState, is.message
}

// Losses are what nodes lose by themselves between two states of a fleet, and what they had
// and will have, as NodeCatalogs.
func Losses(before, now compiler.Input) (lost map[string][]v1alpha1.ResourceRef, had, has compiler.Result) {
	r := &Fleet{}
	had = r.compiler.Compile(before)
	has = r.compiler.Compile(now)
	r.compiled = newCompilation(has, now.Resources, nil, nil)
	r.deselection.first = revisionsOf(before.Resources, nil)
	r.deselection.refs = map[string][]v1alpha1.ResourceRef{}
	for _, catalogs := range []map[string]*v1alpha1.Catalog{had.Catalogs, has.Catalogs} {
		for name, c := range catalogs {
			r.deselection.learn(name, nil, c)
		}
	}
	existing := nodeCatalogs{}
	for name, n := range had.Nodes {
		existing[name] = &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: n.Spec}
	}
	lost, known := map[string][]v1alpha1.ResourceRef{}, drops{}
	for _, c := range r.published.changes(r.compiled, existing) {
		if c.want == nil {
			continue // it is gone
		}
		if refs := r.lostByItself(c, known); len(refs) > 0 {
			lost[c.node] = refs
		}
	}
	return lost, had, has
}

// A Hold judges losses that a test brings in.
type Hold struct{ hold hold }

// A Loss is what one node is about to lose.
type Loss struct {
	Node, At string
	Refs     []v1alpha1.ResourceRef
}

// A View is what a hold goes by.
type View struct {
	Now            time.Time
	Nodes, Percent int
	Resources      []v1alpha1.ResourceRef
	Confirmed      map[v1alpha1.ResourceRef]string
	Has            func(node string, ref v1alpha1.ResourceRef) bool // nil: nothing
}

// Judge decides which nodes are held, and says why by resource.
func (h *Hold) Judge(losses []Loss, v View) (held []string, why map[v1alpha1.ResourceRef]string) {
	is := fleetView{now: v.Now, nodes: v.Nodes, percent: v.Percent, confirmed: v.Confirmed, has: v.Has, resources: map[v1alpha1.ResourceRef]types.UID{}}
	if is.has == nil {
		is.has = func(string, v1alpha1.ResourceRef) bool { return false }
	}
	for _, ref := range v.Resources {
		is.resources[ref] = types.UID(ref)
	}
	var all []loss
	for _, l := range losses {
		all = append(all, loss{l.Node, l.At, l.Refs})
	}
	h.hold.judge(all, is)
	why = map[v1alpha1.ResourceRef]string{}
	for ref, p := range h.hold.problems {
		why[ref] = p.Message
	}
	return h.hold.nodes(), why
}

// Next is when some that are held may go on; 0 for never.
func (h *Hold) Next(now time.Time) time.Duration { return h.hold.next(now) }

// A Board counts as a Fleet does, of nodes that a test brings in.
type Board struct {
	standings standings
	changes   int
}

// Bring brings in a node as it is now, which has yet to apply all, or some.
func (b *Board) Bring(name string, result *compiler.NodeResult, nc *v1alpha1.NodeCatalog, all bool, some map[v1alpha1.ResourceRef]bool, silent bool) {
	b.changes++
	b.standings.update(name, result, nc, progress{all: all, some: some, changes: b.changes}, silent)
}

// Keep forgets all other nodes.
func (b *Board) Keep(nodes map[string]*compiler.NodeResult) { b.standings.keep(nodes) }

// Of counts a resource; unapplied are those unknown that had yet to apply it.
func (b *Board) Of(ref v1alpha1.ResourceRef, nodes []string) (counts v1alpha1.NodeCounts, unapplied int32, samples []v1alpha1.NodeSample) {
	g := b.standings.aggregation().of(ref, nodes)
	return g.counts, g.unapplied, g.samples
}

// WaitAfterReport is how long a pass waits for which a node's report asks; 0 for none.
func (r *Fleet) WaitAfterReport(before, now *v1alpha1.NodeCatalog) time.Duration {
	q := &delays{}
	r.noteReport(before, now, q)
	return q.last
}

type delays struct {
	queue
	last time.Duration
}

// AddAfter notes how long.
func (d *delays) AddAfter(_ ctrl.Request, wait time.Duration) { d.last = wait }

// Refused counts the nodes whose NodeCatalog can't be written.
func (m *Metrics) Refused() float64 {
	var is dto.Metric
	if err := m.refused.Write(&is); err != nil {
		return -1
	}
	return is.GetGauge().GetValue()
}
