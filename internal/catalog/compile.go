package catalog

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Compile makes the catalogs of a fleet. It is pure: the order of the input changes
// nothing, and the input is not changed.
func Compile(input Input) Result {
	p := newPlan(sortedResources(input.Resources), drafting{known: byName(input.Kinds), configMap: input.ConfigMap}, 1)
	result := Result{
		Catalogs: map[string]*v1alpha1.Catalog{},
		Nodes:    map[string]*NodeResult{},
		Selected: map[v1alpha1.ResourceRef][]string{},
	}
	var found findings
	for _, n := range sortedNodes(input.Nodes) {
		s := p.divide(n, (*target).applies)
		p.assign(s, result.Catalogs)
		result.Nodes[n.Name] = p.nodeResult(s)
		p.report(&found, s)
	}
	for _, d := range p.drafts {
		result.Selected[d.ref] = d.target.nodes
	}
	p.reportAll(&found)
	result.Problems = found.problems(result.Selected)
	return result
}

// assign gives a node's targets the node, and, the first time, their catalogs.
func (p *plan) assign(s *share, catalogs map[string]*v1alpha1.Catalog) {
	for _, t := range s.targets {
		if len(t.nodes) == 0 {
			for _, c := range pack(p.shared(t)) {
				catalogs[c.Name] = c
				t.catalogs = append(t.catalogs, v1alpha1.CatalogRef{Name: c.Name})
			}
		}
		t.nodes = append(t.nodes, s.node.Name)
	}
}

func (p *plan) shared(t *target) []*draft {
	var drafts []*draft
	for _, i := range t.drafts {
		if d := p.drafts[i]; d.compiled() {
			drafts = append(drafts, d)
		}
	}
	return drafts
}

// maxWithheldMessage, in bytes, keeps thousands of them within one object. The resource's
// own status has room for more.
const maxWithheldMessage = 256

func (p *plan) nodeResult(s *share) *NodeResult {
	r := &NodeResult{shared: s.survey.applied()}
	for _, t := range s.targets {
		r.Spec.Catalogs = append(r.Spec.Catalogs, t.catalogs...)
	}
	slices.SortFunc(r.Spec.Catalogs, func(a, b v1alpha1.CatalogRef) int { return strings.Compare(a.Name, b.Name) })
	own := make(map[v1alpha1.ResourceRef]string, len(s.own))
	hashes := make([]string, 0, len(s.members))
	for position, i := range s.members {
		if f := s.fault(position); f != nil {
			r.Spec.Withheld = append(r.Spec.Withheld, v1alpha1.Withheld{Ref: p.drafts[i].ref, Reason: f.reason, Message: capped(f.message, maxWithheldMessage)})
			continue
		}
		e, _, hash := p.entry(s, i)
		hashes = append(hashes, hash)
		if s.own[i] != nil {
			r.Spec.Entries = append(r.Spec.Entries, e)
			own[e.Ref()] = hash
		}
	}
	r.own, r.Digest = own, hashOfAll(hashes)
	return r
}

// report gathers what keeps resources from one node alone.
func (p *plan) report(found *findings, s *share) {
	for _, i := range s.members {
		if f := s.faults[i]; f != nil && p.drafts[i].fault == nil {
			found.add(p.drafts[i].ref, f, s.node.Name)
		}
	}
	for position, faults := range s.survey.faults {
		for _, f := range faults {
			found.add(s.survey.drafts[position].ref, f, s.node.Name)
		}
	}
}

// reportAll gathers what keeps resources from every node.
func (p *plan) reportAll(found *findings) {
	for _, d := range p.drafts {
		if d.fault != nil {
			found.add(d.ref, d.fault, d.target.nodes...)
		}
	}
}

func sortedResources(all []v1alpha1.Resource) []v1alpha1.Resource {
	return slices.SortedFunc(slices.Values(all), compareResources)
}

// compareResources goes by kind and name; then by the whole resource, as an input may
// hold two of one name.
func compareResources(a, b v1alpha1.Resource) int {
	byName := cmp.Or(strings.Compare(a.KindName(), b.KindName()), strings.Compare(a.GetName(), b.GetName()))
	if byName != 0 || a == b {
		return byName
	}
	return strings.Compare(text(a), text(b))
}

func text(r v1alpha1.Resource) string {
	raw, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func sortedNodes(all []Node) []*Node {
	nodes := make([]*Node, len(all))
	for i := range all {
		nodes[i] = &all[i]
	}
	slices.SortFunc(nodes, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}
