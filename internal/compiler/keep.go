package compiler

import (
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
)

// maxTrials bounds how often KeepFrom assigns a revision: what is kept may conflict with something else, again and again.
const maxTrials = 16

// KeepFrom returns a revision with the entries that base has of the resources at fault in r, so that a mistake in one of them does not withhold
// what nodes have. A fault counts if base does not have it: in the resource, or on a node of the fleet. One that goes away when a node
// reports does not, nor one of a resource that is being deleted. If base has no entry without a fault, and the fault withholds others, too, then
// only the resource at fault is withheld, wherever it is selected. The faults are those of the resources that differ from r.
//
// The result is r itself if nothing differs. KeepFrom(r, base) is the same with its own result as base. Assign of the result to all nodes
// costs nothing more, unless Place is called in between.
func (f *Fleet) KeepFrom(r, base *Revision, seal Sealer) (*Revision, map[v1alpha1.ResourceRef]*Fault) {
	k := keeper{fleet: f, seal: seal, base: base, drafted: r, vain: map[v1alpha1.ResourceRef]bool{}}
	k.start()
	for range maxTrials {
		switch {
		case k.try():
			k.current = k.merge()
		case k.findVain():
			k.start()
		default:
			return k.current, k.faults
		}
	}
	return k.current, k.faults
}

// A keeper finds out what has to be kept.
type keeper struct {
	fleet    *Fleet
	seal     Sealer
	base     *Revision
	drafted  *Revision
	current  *Revision                            // with what is replaced
	onBase   map[nodeFault]bool                   // the faults of base; nil if they are unknown
	replaced map[v1alpha1.ResourceRef]*Draft      // instead of those of drafted
	faults   map[v1alpha1.ResourceRef]*Fault      // of those
	causes   map[v1alpha1.ResourceRef][]nodeFault // why entries of base are kept that have faults only on nodes
	vain     map[v1alpha1.ResourceRef]bool        // resources that have the same faults with the entry of base
}

// start begins with the revision as it was drafted.
func (k *keeper) start() {
	k.current, k.replaced, k.faults = k.drafted, map[v1alpha1.ResourceRef]*Draft{}, map[v1alpha1.ResourceRef]*Fault{}
	k.causes = map[v1alpha1.ResourceRef][]nodeFault{}
}

// try assigns the revision, and reports whether more has to be replaced.
func (k *keeper) try() bool {
	before := len(k.replaced)
	result := k.fleet.Assign(k.current, nil, k.seal)
	for _, p := range result.Problems {
		if isFault(p.Reason) && !k.vain[p.Ref] {
			k.decide(p, nodesOf(p, result))
		}
	}
	return len(k.replaced) > before
}

// isFault reports whether a problem needs another resource, and not another node.
func isFault(reason string) bool {
	return !v1alpha1.WaitsForNode(reason) && reason != v1alpha1.ReasonNoNodesSelected && reason != v1alpha1.ReasonTakeoverHeld
}

func nodesOf(p Problem, in Result) []string {
	if p.Node == "" {
		return in.Selected[p.Ref]
	}
	return []string{p.Node}
}

// decide replaces the draft of a resource at fault on nodes, or of another one that causes the fault.
func (k *keeper) decide(p Problem, nodes []string) {
	d, b := k.current.draft(p.Ref), k.base.draft(p.Ref)
	switch {
	case d.Deleting:
	case b != nil && d.same(b):
		k.keepReferenced(p)
	case k.replaced[p.Ref] != nil:
	case b == nil || b.Fault != nil:
		k.withhold(d, b, d.faultIn(p))
	case d.Fault != nil || k.isNew(p, nodes):
		k.replace(b, d.faultIn(p))
	}
}

// faultIn returns the fault of a draft whatever the node, or that of a problem on nodes.
func (d *Draft) faultIn(p Problem) *Fault {
	if d.Fault != nil {
		return d.Fault
	}
	return &Fault{Reason: p.Reason, Message: p.Message, Edge: p.Edge}
}

// withhold withholds a resource that base has no entry of, if others would be withheld because of it.
func (k *keeper) withhold(d, b *Draft, f *Fault) {
	if d.withholdsOthers(f.Reason) {
		k.replace(d.alone(f, b), f)
	}
}

func (k *keeper) replace(by *Draft, f *Fault) { k.replaced[by.Ref], k.faults[by.Ref] = by, f }

// keepReferenced keeps a resource that an unchanged one references, if it has changed so that a node lacks it.
func (k *keeper) keepReferenced(p Problem) {
	d, b := k.current.draft(p.Edge.Ref), k.base.draft(p.Edge.Ref)
	if p.Reason != v1alpha1.ReasonMissingReference || d == nil || b == nil || b.Fault != nil || k.replaced[d.Ref] != nil || d.same(b) {
		return
	}
	k.replace(b, fault.New(p.Reason, "nodes with %s would lack it: %s", p.Ref, p.Message))
}

// isNew reports whether base does not have a fault on some of the nodes, which become the causes of what is kept.
func (k *keeper) isNew(p Problem, nodes []string) bool {
	if k.onBase == nil {
		k.onBase = faultsOf(k.fleet.assign(k.base, k.fleet.nodes, k.seal, k.fleet.meter()))
	}
	var causes []nodeFault
	for _, n := range nodes {
		if f := (nodeFault{p.Ref, p.Reason, n}); !k.onBase[f] {
			causes = append(causes, f)
		}
	}
	k.causes[p.Ref] = causes
	return len(causes) > 0
}

// findVain finds entries of base with which resources have the same faults, because of something else. To keep them would only hold back
// an edit, and the next compilation would let go of them.
func (k *keeper) findVain() bool {
	before := len(k.vain)
	if len(k.replaced) == 0 {
		return false
	}
	is := faultsOf(k.fleet.Assign(k.current, nil, k.seal))
	for ref := range k.replaced {
		causes := k.causes[ref]
		stays := len(causes) > 0 && !slices.ContainsFunc(causes, func(f nodeFault) bool { return !is[f] })
		if stays || k.replaced[ref].Fault == nil && k.current.draft(ref).Fault != nil {
			k.vain[ref] = true
		}
	}
	return len(k.vain) > before
}

// A nodeFault is a fault of a resource on a node.
type nodeFault struct {
	ref          v1alpha1.ResourceRef
	reason, node string
}

func faultsOf(result Result) map[nodeFault]bool {
	all := map[nodeFault]bool{}
	for _, p := range result.Problems {
		for _, n := range nodesOf(p, result) {
			all[nodeFault{p.Ref, p.Reason, n}] = true
		}
	}
	return all
}

// withholdsOthers reports whether others are withheld because a resource has a fault.
func (d *Draft) withholdsOthers(reason string) bool {
	switch reason {
	case v1alpha1.ReasonConflict, v1alpha1.ReasonMissingReference, v1alpha1.ReasonDependencyCycle:
		return d.Identity != "" || len(d.Edges) > 0
	}
	return d.Fault != nil && d.Identity != "" || slices.ContainsFunc(d.Edges, func(e edge) bool { return !e.First })
}

// alone returns a draft that has a fault and no influence on others: it neither claims anything nor has edges. It is the draft of base if
// that has this fault, too, perhaps with a message about other nodes.
func (d *Draft) alone(f *Fault, b *Draft) *Draft {
	is := &Draft{
		rendering: rendering{Entry: v1alpha1.CatalogEntry{Kind: d.Entry.Kind, Name: d.Entry.Name}, Fault: &Fault{Reason: f.Reason, Message: f.Message}},
		Ref:       d.Ref, Location: d.Location, Remote: d.Remote, targeting: d.targeting, key: d.key,
	}
	if b != nil && b.same(is) {
		return b
	}
	return is
}

// merge returns the revision with what is replaced. It shares no drafts with others, because the position of a draft is its revision's.
func (k *keeper) merge() *Revision {
	drafts := make([]*Draft, len(k.drafted.Drafts))
	for i, d := range k.drafted.Drafts {
		if is := k.replaced[d.Ref]; is != nil {
			d = is
		}
		is := *d
		drafts[i] = &is
	}
	return packed(drafts, k.base.definitions.with(k.drafted.definitions), k.fleet.compiler.selection)
}

// packed makes a revision of drafts of others, in their order.
func packed(drafts []*Draft, types definitions, selection selectionFunc) *Revision {
	r := assemble(drafts, selection)
	r.definitions = types
	r.failRemoteDuplicates()
	r.relateRemote()
	r.pack()
	return r
}
