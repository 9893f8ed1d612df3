package page

import (
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/cli/page/chart"
	"github.com/fettle-dev/fettle/internal/engine/report"
)

// catalogView is the content of the page of a catalog.
type catalogView struct {
	Node string
	table[entryRow]
	chart.Graph
	TooLarge int // the number of resources with relations, if they are too many to draw
}

// An entryRow is a row of the table of a catalog.
type entryRow struct {
	overview.Entry
	Relations []edges
}

// maxDrawn is the number of resources in a drawing. Nobody can follow the lines of more.
const maxDrawn = 300

func (p *page) catalog(r *http.Request) (view, error) {
	node := r.PathValue("name")
	v := view{Title: "Catalog of " + node}
	f, err := filterOf(r, "q")
	if err != nil {
		return v, err
	}
	all, err := p.Source.Entries(r.Context(), node)
	if err != nil {
		return v, unknownNode(node, err)
	}
	c := catalogView{Node: node, Graph: chart.Draw(graphOf(all))}
	if len(c.Boxes) > maxDrawn {
		c.Graph, c.TooLarge = chart.Graph{}, len(c.Boxes)
	}
	var rows []entryRow
	for _, e := range all {
		if f.matches(string(e.Ref()), e.Namevar) {
			rows = append(rows, entryRow{e, edgesOf(e.Edges)})
		}
	}
	c.table = tableOf(f, rows)
	v.Content = c
	return v, nil
}

// graphOf returns the relations between resources of a catalog. Relations to others have no effect.
func graphOf(all []overview.Entry) []chart.Edge {
	present := map[v1alpha1.ResourceRef]bool{}
	for _, e := range all {
		present[e.Ref()] = e.Withheld == nil
	}
	var edges []chart.Edge
	add := func(from, to v1alpha1.ResourceRef, refresh bool) {
		if present[from] && present[to] {
			edges = append(edges, chart.Edge{From: string(from), To: string(to), Refresh: refresh})
		}
	}
	for _, e := range all {
		if e.Edges == nil {
			continue
		}
		for _, other := range e.Edges.Require {
			add(other, e.Ref(), false)
		}
		for _, other := range e.Edges.Before {
			add(e.Ref(), other, false)
		}
		for _, other := range e.Edges.Notify {
			add(e.Ref(), other, true)
		}
		for _, other := range e.Edges.Subscribe {
			add(other, e.Ref(), true)
		}
	}
	return edges
}

// diffView is the content of the page of the differences of a host.
type diffView struct {
	Node string
	report.Report
	Different []report.ResourceReport
}

// diff asks the node. So the page is not shown again with each change.
func (p *page) diff(r *http.Request) (view, error) {
	node := r.PathValue("name")
	v := view{Title: "Differences of " + node, Once: true}
	got := p.Source.Difference(r.Context(), node)
	if got.Err != nil {
		return v, unknownNode(node, got.Err)
	}
	different := slices.DeleteFunc(slices.Clone(got.Report.Resources), func(r report.ResourceReport) bool {
		return len(r.Events) == 0 && r.State != report.Failed && r.State != report.Skipped
	})
	v.Content = diffView{node, got.Report, different}
	return v, nil
}

// unknownNode returns the error for a node that has no NodeCatalog, or else err.
func unknownNode(node string, err error) error {
	if apierrors.IsNotFound(err) {
		return &failure{http.StatusNotFound, "There is no NodeCatalog " + node + "."}
	}
	return err
}

// A diffLine is a line of a unified diff.
type diffLine struct {
	Sign string // added, removed, place or same
	Text string
}

// diffLines splits a unified diff.
func diffLines(diff string) []diffLine {
	var all []diffLine
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		sign := "same"
		switch {
		case strings.HasPrefix(line, "+"):
			sign = "added"
		case strings.HasPrefix(line, "-"):
			sign = "removed"
		case strings.HasPrefix(line, "@@"):
			sign = "place"
		}
		all = append(all, diffLine{sign, line})
	}
	return all
}
