package plan

import "github.com/fettle-dev/fettle/internal/resource"

// A Reach says which other resources of a catalog a partial run may concern, as a whole run has found it. The zero value
// knows nothing.
type Reach struct {
	after map[resource.Ref][]resource.Ref // what comes directly after a resource
	wide  map[resource.Ref]bool           // what asks for other resources of the catalog
}

// Of returns what may be handled by a partial run of some resources of this catalog, which handles only selected ones. The run
// needs no more of the others than their Ref and their relations, unless one of what it may handle asks for them (wide).
func (r Reach) Of(only, selected map[resource.Ref]bool) (refs map[resource.Ref]bool, wide bool) {
	refs = map[resource.Ref]bool{}
	var rest []resource.Ref
	reach := func(ref resource.Ref) {
		if selected[ref] && !refs[ref] {
			refs[ref] = true
			wide = wide || r.wide[ref]
			rest = append(rest, ref)
		}
	}
	for ref := range only {
		reach(ref)
	}
	for len(rest) > 0 {
		ref := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		for _, after := range r.after[ref] {
			reach(after)
		}
	}
	return refs, wide || r.after == nil
}

// Reach returns that of the items that the plan orders. looked reports whether an item asked for others.
func (p *Plan) Reach(items []resource.Item, looked func(n int) bool) Reach {
	reach := Reach{map[resource.Ref][]resource.Ref{}, map[resource.Ref]bool{}}
	for n := range items {
		for _, after := range p.Graph.After(n) {
			reach.after[items[n].Ref] = append(reach.after[items[n].Ref], items[after].Ref)
		}
		if p.Related[n] != nil || looked(n) {
			reach.wide[items[n].Ref] = true
		}
	}
	return reach
}
