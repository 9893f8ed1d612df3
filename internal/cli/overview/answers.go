package overview

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/validate/content"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
)

// maxAsked is the number of nodes that are asked at the same time.
const maxAsked = 32

// inParallel calls a function with 0 to n-1, with maxAsked calls at the same time.
func inParallel(n int, do func(i int)) {
	var waiting sync.WaitGroup
	slots := make(chan struct{}, maxAsked)
	for i := range n {
		slots <- struct{}{}
		waiting.Go(func() {
			do(i)
			<-slots
		})
	}
	waiting.Wait()
}

// A Difference is what a node answers to the question how it differs from its catalog.
type Difference struct {
	Node string
	// State is the state of the node, and StateMessage explains it. "" if its NodeCatalog cannot be read.
	State        nodestate.State
	StateMessage string
	Report       report.Report
	// Withheld are the resources that the node does not get, so that it cannot answer for them.
	Withheld []v1alpha1.Withheld
	Err      error // there is no answer
}

// Reports returns the reports that a node has stored, the latest last.
func (c *Client) Reports(ctx context.Context, node string) ([]report.Stored, error) {
	var list struct {
		Items []report.Stored `json:"items"`
	}
	query := url.Values{"fieldSelector": {reports.FieldNode + "=" + node}}
	if err := c.ask(ctx, node, "nodereports?"+query.Encode(), &list); err != nil {
		return nil, c.suggestNode(ctx, node, fmt.Errorf("cannot get the reports of %s: %w", node, err))
	}
	return list.Items, nil
}

// Difference asks a node how it differs from its catalog.
func (c *Client) Difference(ctx context.Context, node string) Difference {
	d := c.difference(ctx, node)
	var n NodeCatalog
	if d.Err != nil {
		return d
	}
	if err := c.get(ctx, catalogsPath()+"/"+node, "application/json", &n); err == nil { // otherwise, only the answer is known
		is := n.State()
		d.State, d.StateMessage = is.State, is.Message
		d.Withheld = n.missing()
	}
	return d
}

func (c *Client) difference(ctx context.Context, node string) Difference {
	var diff struct {
		Report report.Report `json:"report"`
	}
	if err := c.ask(ctx, node, "nodediffs/"+node, &diff); err != nil {
		return Difference{Node: node, Err: c.suggestNode(ctx, node, fmt.Errorf("cannot compare %s: %w", node, err))}
	}
	return Difference{Node: node, Report: diff.Report}
}

// DifferencesOf asks nodes how they differ from one resource, in their order. Nodes from which it is withheld are not asked.
func (c *Client) DifferencesOf(ctx context.Context, ref v1alpha1.ResourceRef, nodes []Explanation, catalogs map[string]*NodeCatalog) []Difference {
	all := make([]Difference, len(nodes))
	inParallel(len(nodes), func(i int) {
		n := nodes[i]
		if n.State == v1alpha1.StateWithheld {
			all[i] = Difference{Node: n.Node, Withheld: []v1alpha1.Withheld{{Ref: ref, Message: n.Reason}}}
			return
		}
		all[i] = c.difference(ctx, n.Node)
		all[i].Report = Only(all[i].Report, string(ref))
	})
	for i, n := range nodes {
		if catalog := catalogs[n.Node]; catalog != nil {
			is := catalog.State()
			all[i].State, all[i].StateMessage = is.State, is.Message
		}
	}
	return all
}

// NodeCatalogsByName returns the NodeCatalogs of Nodes by name.
func NodeCatalogsByName(all []Node) map[string]*NodeCatalog {
	catalogs := map[string]*NodeCatalog{}
	for _, n := range all {
		catalogs[n.Name] = n.Catalog
	}
	return catalogs
}

// ask gets an answer of a node.
func (c *Client) ask(ctx context.Context, node, path string, into any) error {
	if faults := content.IsPathSegmentName(node); len(faults) > 0 {
		return fmt.Errorf("%q is not a name of a Node: it %s", node, faults[0])
	}
	raw, err := bodyOf(c.rest.Get().RequestURI("/apis/" + reports.GroupVersion.String() + "/" + path).Do(ctx))
	if err := explainAnswer(err); err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// apiService is the name of the APIService of the API of reports.
const apiService = "v1alpha1.reports.fettle.dev"

// Only returns the report of a single resource.
func Only(r report.Report, ref string) report.Report {
	all := r.Resources
	r.Resources, r.Counts = nil, report.Counts{}
	for _, res := range all {
		if sameResource(ref, res.Ref.String()) {
			r.Resources = append(r.Resources, res)
			r.Counts.Add(res)
		}
	}
	return r
}

// An Entry is a resource in the catalog of a node.
type Entry struct {
	v1alpha1.CatalogEntry `json:",inline"`
	// Withheld is why the node does not get it; nil if it does.
	Withheld *v1alpha1.Withheld `json:"withheld,omitempty"`
}

// Entries returns the catalog of a node, by kind and name.
func (c *Client) Entries(ctx context.Context, node string) ([]Entry, error) {
	if faults := content.IsPathSegmentName(node); len(faults) > 0 {
		return nil, fmt.Errorf("%q is not a name of a Node: it %s", node, faults[0])
	}
	var nc v1alpha1.NodeCatalog
	if err := c.get(ctx, catalogsPath()+"/"+node, "application/json", &nc); err != nil {
		return nil, c.suggestNode(ctx, node, fmt.Errorf("cannot get the NodeCatalog %s: %w", node, err))
	}
	var all []Entry
	for _, w := range nc.Spec.Withheld {
		kind, name, _ := strings.Cut(string(w.Ref), "/")
		all = append(all, Entry{CatalogEntry: v1alpha1.CatalogEntry{Kind: kind, Name: name}, Withheld: &w})
	}
	entries := slices.Clone(nc.Spec.Entries)
	for _, ref := range nc.Spec.Catalogs {
		var catalog v1alpha1.Catalog
		if err := c.get(ctx, "/apis/"+v1alpha1.GroupVersion.String()+"/catalogs/"+ref.Name, "application/json", &catalog); err != nil {
			return nil, fmt.Errorf("cannot get the Catalog %s: %w", ref.Name, err)
		}
		entries = append(entries, catalog.Entries...)
	}
	for _, e := range nc.Spec.Given(entries) {
		all = append(all, Entry{CatalogEntry: e})
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name)) })
	return all, nil
}

// A DifferenceGroup has nodes that report the same.
type DifferenceGroup struct {
	Nodes  []string
	Report report.Report // of the first one
}

// GroupDifferences groups nodes by their reports, apart from durations. The largest groups come first.
func GroupDifferences(all []Difference) []DifferenceGroup {
	var groups []DifferenceGroup
	index := map[string]int{}
	for _, d := range all {
		var text strings.Builder
		for _, res := range d.Report.Resources {
			res.Duration = 0
			fmt.Fprintf(&text, "%q\n", fmt.Sprintf("%+v", res))
		}
		i, known := index[text.String()]
		if !known {
			i = len(groups)
			index[text.String()] = i
			groups = append(groups, DifferenceGroup{Report: d.Report})
		}
		groups[i].Nodes = append(groups[i].Nodes, d.Node)
	}
	slices.SortStableFunc(groups, func(a, b DifferenceGroup) int { return len(b.Nodes) - len(a.Nodes) })
	return groups
}
