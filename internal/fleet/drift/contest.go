package drift

import "github.com/fettle-dev/fettle/api/v1alpha1"

// A Contest is a resource that something else changes again and again, against its corrections.
type Contest struct {
	Nodes int              // on which it does, at least one
	Node  string           // the first of them
	By    *v1alpha1.Author // the last author there; nil if unknown
}

// Contest returns the contest over a resource on the nodes that it selects, which are sorted; nil if there is none. A node counts only
// while it is heard: otherwise, nobody knows whether the contest is over.
func (r *Records) Contest(ref v1alpha1.ResourceRef, selected []string, heard func(node string) bool) *Contest {
	of := r.byRef[v1alpha1.ReportedRef(ref)]
	if of == nil {
		return nil
	}
	var c Contest
	for node := range of.contended {
		if !selects(selected, node) || !heard(node) {
			continue
		}
		if c.Nodes++; c.Nodes == 1 || node < c.Node {
			c.Node, c.By = node, of.seen[node].by
		}
	}
	if c.Nodes == 0 {
		return nil
	}
	return &c
}
