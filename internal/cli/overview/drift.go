package overview

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Groups of drift.
const (
	ByResource = "resource"
	ByNode     = "node"
	ByKind     = "kind"
	ByBoth     = "both" // each resource on each node
)

// A Query selects drift.
type Query struct {
	By    string    // a group
	Since time.Time // drift that was last seen earlier is omitted; zero is all
	// Refs are resources, as Kind/name, and Nodes the names of nodes; none selects all. The case of a kind does not count.
	Refs, Nodes []string
	Top         int // the number of rows; 0 is all
}

// A Drift is a row: the drift of a group.
type Drift struct {
	// Kind, Resource (as Kind/name) and Node identify the group, as far as they apply.
	Kind     string `json:"kind,omitempty"`
	Resource string `json:"resource,omitempty"`
	Node     string `json:"node,omitempty"`
	// Resources and Nodes are the numbers of those that drifted.
	Resources int `json:"resources"`
	Nodes     int `json:"nodes"`
	// Count is how often drift was found.
	Count int64 `json:"count"`
	// Uncorrected counts resources on nodes whose last drift was only reported, or could not be corrected.
	Uncorrected int `json:"uncorrected"`
	// Failed counts the drifted resources that are failed now: Fettle cannot correct them.
	Failed    int       `json:"failed"`
	FirstSeen time.Time `json:"firstSeen"`
	LastSeen  time.Time `json:"lastSeen"`
	// Properties that drifted last, by name.
	Properties []string `json:"properties"`
	// Author of the last drift; nil if it is unknown.
	Author *v1alpha1.Author `json:"author,omitempty"`
}

// A group collects a Drift.
type group struct {
	Drift
	resources, nodes, properties map[string]bool
}

// Drifts returns the rows that a query selects, those that drifted most often first.
func Drifts(all []NodeCatalog, q Query) []Drift {
	groups := map[key]*group{}
	for _, n := range all {
		if len(q.Nodes) > 0 && !slices.Contains(q.Nodes, n.Name) {
			continue
		}
		for _, r := range n.Status.Drift {
			if !r.LastSeen.Time.Before(q.Since) && q.selects(string(r.Ref)) {
				groupOf(groups, q.By, n.Name, r).add(n, r)
			}
		}
	}
	rows := make([]Drift, 0, len(groups))
	for _, g := range groups {
		g.Resources, g.Nodes = len(g.resources), len(g.nodes)
		g.Properties = slices.Sorted(maps.Keys(g.properties))
		rows = append(rows, g.Drift)
	}
	slices.SortFunc(rows, func(a, b Drift) int {
		return cmp.Or(
			cmp.Compare(b.Count, a.Count), b.LastSeen.Compare(a.LastSeen),
			strings.Compare(a.Kind, b.Kind), strings.Compare(a.Resource, b.Resource), strings.Compare(a.Node, b.Node))
	})
	if q.Top > 0 && len(rows) > q.Top {
		rows = rows[:q.Top]
	}
	return rows
}

// selects reports whether a resource is selected.
func (q Query) selects(ref string) bool {
	return len(q.Refs) == 0 || slices.ContainsFunc(q.Refs, func(wanted string) bool { return sameResource(wanted, ref) })
}

// sameResource compares references. The case of kinds does not count.
func sameResource(a, b string) bool {
	aKind, aName, _ := strings.Cut(a, "/")
	bKind, bName, _ := strings.Cut(b, "/")
	return strings.EqualFold(aKind, bKind) && aName == bName
}

// A key identifies a group.
type key struct{ kind, resource, node string }

func keyOf(by, node, ref string) key {
	kind, _, _ := strings.Cut(ref, "/")
	switch by {
	case ByNode:
		return key{node: node}
	case ByKind:
		return key{kind: kind}
	case ByBoth:
		return key{resource: ref, node: node}
	}
	return key{resource: ref}
}

// groupOf returns the group of a record, a new one if need be.
func groupOf(groups map[key]*group, by, node string, r v1alpha1.DriftRecord) *group {
	k := keyOf(by, node, string(r.Ref))
	if groups[k] == nil {
		groups[k] = &group{
			Drift:     Drift{Kind: k.kind, Resource: k.resource, Node: k.node, FirstSeen: r.FirstSeen.Time},
			resources: map[string]bool{}, nodes: map[string]bool{}, properties: map[string]bool{},
		}
	}
	return groups[k]
}

// add adds a record of a node.
func (g *group) add(n NodeCatalog, r v1alpha1.DriftRecord) {
	g.Count += r.Count
	g.resources[string(r.Ref)], g.nodes[n.Name] = true, true
	for _, p := range r.Properties {
		g.properties[p] = true
	}
	if !r.Corrected {
		g.Uncorrected++
		if n.isFailed(r.Ref) {
			g.Failed++
		}
	}
	if r.FirstSeen.Time.Before(g.FirstSeen) {
		g.FirstSeen = r.FirstSeen.Time
	}
	if r.LastSeen.After(g.LastSeen) {
		g.LastSeen, g.Author = r.LastSeen.Time, r.Author
	}
}

func (n NodeCatalog) isFailed(ref v1alpha1.ReportedRef) bool {
	return slices.ContainsFunc(n.Status.Resources, func(r v1alpha1.ResourceReport) bool {
		return r.Ref == ref && r.State == v1alpha1.StateFailed
	})
}
