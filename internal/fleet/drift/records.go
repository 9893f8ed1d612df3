// Package drift adds up the drift that nodes report: the records in their statuses, and what has just happened.
//
// A node can report drift of resources that do not select it. That counts for no resource: see selects. [Records] are updated
// node by node, so a reconciliation costs what changed since the one before, also if thousands of nodes drift.
package drift

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Records are the records of all nodes. The zero value is empty. It is not safe for concurrent use.
type Records struct {
	nodes map[string][]v1alpha1.DriftRecord // as reported
	byRef map[v1alpha1.ReportedRef]*resource
}

// A resource has the records of one resource, by node.
type resource struct {
	seen      map[string]seen
	contended map[string]bool // nodes
	// sum is the sum for the nodes of, which are identified by the address of their first name; nil if it is outdated.
	sum *v1alpha1.ResourceDrift
	of  *string
}

type seen struct {
	count     int64
	last      time.Time
	corrected bool
	contended bool
	by        *v1alpha1.Author
}

// Observe replaces the records of a node, which it keeps. now is the latest time at which drift can have
// been seen: a node's clock may be wrong.
func (r *Records) Observe(node string, records []v1alpha1.DriftRecord, now time.Time) {
	was := r.nodes[node]
	if same(was, records) {
		return
	}
	for _, record := range without(was, records) {
		r.forget(record.Ref, node)
	}
	if r.nodes == nil {
		r.nodes, r.byRef = map[string][]v1alpha1.DriftRecord{}, map[v1alpha1.ReportedRef]*resource{}
	}
	if r.nodes[node] = records; len(records) == 0 {
		delete(r.nodes, node)
	}
	for _, record := range without(records, was) {
		r.remember(node, record, now)
	}
}

func (r *Records) remember(node string, record v1alpha1.DriftRecord, now time.Time) {
	of := r.byRef[record.Ref]
	if of == nil {
		of = &resource{seen: map[string]seen{}, contended: map[string]bool{}}
		r.byRef[record.Ref] = of
	}
	is := seen{record.Count, record.LastSeen.Time, record.Corrected, record.Contended, record.Author}
	if is.last.After(now) {
		is.last = now
	}
	of.seen[node], of.sum = is, nil
	if delete(of.contended, node); is.contended {
		of.contended[node] = true
	}
}

// same reports whether a node reported nothing since.
func same(a, b []v1alpha1.DriftRecord) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// without returns the records that others lack.
func without(records, others []v1alpha1.DriftRecord) (rest []v1alpha1.DriftRecord) {
	for _, r := range records {
		if !slices.ContainsFunc(others, func(o v1alpha1.DriftRecord) bool { return equal(r, o) }) {
			rest = append(rest, r)
		}
	}
	return rest
}

func equal(a, b v1alpha1.DriftRecord) bool {
	return a.Ref == b.Ref && a.Count == b.Count && a.Corrected == b.Corrected && a.Contended == b.Contended && a.LastSeen.Equal(&b.LastSeen) &&
		equality.Semantic.DeepEqual(a.Author, b.Author)
}

func (r *Records) forget(ref v1alpha1.ReportedRef, node string) {
	of := r.byRef[ref]
	if of == nil {
		return // the node reported it twice
	}
	delete(of.contended, node)
	if delete(of.seen, node); len(of.seen) == 0 {
		delete(r.byRef, ref)
	}
	of.sum = nil
}

// Retain forgets nodes for which exists is false.
func (r *Records) Retain(exists func(node string) bool) {
	for node := range r.nodes {
		if !exists(node) {
			r.Observe(node, nil, time.Time{})
		}
	}
}

// Of returns the sum of the records of a resource, nil if there is none. Only records of the nodes that it
// selects count, which are sorted, and must be the same slice until they change.
func (r *Records) Of(ref v1alpha1.ResourceRef, selected []string) *v1alpha1.ResourceDrift {
	of := r.byRef[v1alpha1.ReportedRef(ref)]
	if of == nil || len(selected) == 0 {
		return nil
	}
	if of.sum == nil || of.of != &selected[0] {
		of.sum, of.of = sum(of.seen, selected), &selected[0]
	}
	if of.sum.Nodes == 0 {
		return nil
	}
	return of.sum.DeepCopy()
}

func sum(all map[string]seen, selected []string) *v1alpha1.ResourceDrift {
	var s v1alpha1.ResourceDrift
	for node, is := range all {
		if !selects(selected, node) {
			continue
		}
		s.Nodes++
		s.Count += is.count
		if !is.corrected {
			s.Uncorrected++
		}
		if is.last.After(s.LastSeen.Time) {
			s.LastSeen = metav1.NewTime(is.last)
		}
	}
	return &s
}

// selects reports whether a node is among those that a resource selects, which are sorted. What other nodes report about the
// resource is dropped: an agent may lie about any resource, but affects only the records of its own node.
func selects(selected []string, node string) bool {
	_, found := slices.BinarySearch(selected, node)
	return found
}

// A Sum is the drift of a fleet.
type Sum struct {
	Resources   int             // that drifted
	Nodes       map[string]bool // on which they did
	Count       int64           // how often, since the records begin
	Uncorrected int             // resources on nodes whose last drift was not corrected
}

// Since returns the sum of the records of drift that was last seen at a time or later.
func (r *Records) Since(t time.Time) Sum {
	s := Sum{Nodes: map[string]bool{}}
	for _, of := range r.byRef {
		drifted := 0
		for node, is := range of.seen {
			if is.last.Before(t) {
				continue
			}
			drifted = 1
			s.Nodes[node] = true
			s.Count += is.count
			if !is.corrected {
				s.Uncorrected++
			}
		}
		s.Resources += drifted
	}
	return s
}
