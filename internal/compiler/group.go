package compiler

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
	"github.com/fettle-dev/fettle/internal/text"
)

// A nodeGroup is the common state of nodes that are selected by the same targets and on which the same drafts are
// withheld. It is immutable.
type nodeGroup struct {
	validation
	catalogs []v1alpha1.CatalogRef
	types    definitions                     // of the revision
	shared   map[v1alpha1.ResourceRef]string // hashes of entries in the catalogs
	plain    *NodeResult                     // of nodes without anything of their own; nil until there is one
}

func newGroup(n *nodeAssignment, of *Revision, spent *meter) *nodeGroup {
	g := &nodeGroup{types: of.definitions, shared: map[v1alpha1.ResourceRef]string{}}
	var members []*Draft
	for _, t := range n.targets {
		members = append(members, t.Drafts...)
		g.catalogs = append(g.catalogs, t.Refs...)
	}
	if !spent.spend(Usage{Pairs: len(members)}) {
		return g
	}
	slices.SortFunc(members, compareDrafts)
	slices.SortFunc(g.catalogs, func(a, b v1alpha1.CatalogRef) int { return strings.Compare(a.Name, b.Name) })
	g.validation = validateGraph(members, n.blocked, of.Exists)
	for i, d := range members {
		if g.reason(i) == "" && d.PerNode == nil {
			g.shared[d.Ref] = d.Hash
		}
	}
	return g
}

// fault returns the reason why the member at a position is withheld from a node of the group, or nil.
func (g *nodeGroup) fault(n *nodeAssignment, position int) *fault.Fault {
	d := g.members[position]
	if d.Fault != nil {
		return d.Fault
	}
	if f := n.blocked[d]; f != nil {
		return f
	}
	if found := g.faults[position]; len(found) > 0 {
		return found[0]
	}
	return nil
}

// resultFor returns the desired state of a node of the group.
func (g *nodeGroup) resultFor(n *nodeAssignment, spent *meter) *NodeResult {
	spent.spend(Usage{Pairs: len(n.own) + len(n.blocked)})
	if len(n.own)+len(n.blocked)+len(n.Retained)+len(n.stops) > 0 {
		return g.newResult(n)
	}
	if g.plain == nil {
		g.plain = g.newResult(n)
	}
	return g.plain
}

// sizeOf returns the size of a text as JSON, in bytes.
func sizeOf(s string) int {
	raw, _ := json.Marshal(s) // every text encodes
	return len(raw)
}

// The limits of messages in a NodeCatalog, whose spec has to be smaller than [catalog.MaxSpec]. The status of each resource
// has its message, too.
const (
	maxWithheldMessage  = 256 // in bytes
	maxWithheldMessages = 128
	maxLocations        = 64 << 10 // in bytes of JSON, of all together
)

// external returns the drafts of external types that are not withheld from a node of the group.
func (g *nodeGroup) external(n *nodeAssignment) iter.Seq[*Draft] {
	return func(yield func(*Draft) bool) {
		for i, d := range g.members {
			if d.Entry.Type != "" && g.fault(n, i) == nil && !yield(d) {
				return
			}
		}
	}
}

func (g *nodeGroup) newResult(n *nodeAssignment) *NodeResult {
	r := &NodeResult{Spec: v1alpha1.NodeCatalogSpec{Catalogs: g.catalogs}, shared: g.shared, own: make(map[v1alpha1.ResourceRef]string, len(n.own))}
	r.Spec.Entries = slices.Grow(r.Spec.Entries, len(n.own)) // exactly as many, since a fleet has several revisions of this
	own := make([]string, 0, len(n.own))
	room := maxLocations
	for i, d := range g.members {
		if f := g.fault(n, i); f != nil {
			w := v1alpha1.Withheld{Ref: d.Ref, Reason: f.Reason}
			if len(r.Spec.Withheld) < maxWithheldMessages {
				w.Message = text.Clip(f.Message, maxWithheldMessage)
			}
			if size := sizeOf(d.Location); size <= room {
				w.Location, room = d.Location, room-size
			}
			r.Spec.Withheld = append(r.Spec.Withheld, w)
		} else if made := n.own[d]; made != nil {
			r.Spec.Entries = append(r.Spec.Entries, made.Entry)
			own = append(own, made.Hash)
			r.own[d.Ref] = made.Hash
		}
	}
	for _, ref := range n.Retained {
		r.Spec.Withheld = append(r.Spec.Withheld, v1alpha1.Withheld{Ref: ref, Reason: v1alpha1.ReasonUninstalled})
	}
	for _, ref := range n.stops {
		r.Spec.Withheld = append(r.Spec.Withheld, v1alpha1.Withheld{Ref: ref, Reason: v1alpha1.ReasonMoving})
	}
	r.Types = g.types.of(g.external(n))
	r.Digest = catalog.DigestOf(r.Spec, own)
	return r
}
