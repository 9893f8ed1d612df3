package catalog

import "github.com/fettle-dev/fettle/api/v1alpha1"

// Local compiles for one machine without a cluster: input.Nodes[0] alone, whose nil
// Labels select everything. entries are in the order of input.Resources; what a
// problem concerns is left out of them. The node of a problem is "".
func Local(input Input) (entries []v1alpha1.CatalogEntry, problems []Problem) {
	node := &Node{}
	if len(input.Nodes) > 0 {
		node = &input.Nodes[0]
	}
	applies := (*target).applies
	if node.Labels == nil {
		applies = (*target).allows
	}
	p := newPlan(input.Resources, input)
	s := p.divide(node, applies)
	var found findings
	for position, i := range s.members {
		if s.fault(position) == nil {
			e, _ := p.entry(s, i)
			entries = append(entries, e)
		}
	}
	p.report(&found, s)
	p.reportAll(&found)
	return entries, found.problems(nil)
}
