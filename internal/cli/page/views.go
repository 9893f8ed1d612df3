package page

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/live"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/cli/page/chart"
	"github.com/fettle-dev/fettle/internal/text"
)

// unread reports whether nothing is known yet, or ever will be with this error.
func unread[T any](all []T, err error) bool { return err != nil && len(all) == 0 }

// fleetView is the content of the first page.
type fleetView struct {
	overview.Status
	History        chart.History
	HistoryProblem string // why it is not known
	Latest         []v1alpha1.FleetHour
	Drifted        []overview.Drift // most frequent first
}

// Rows on the first page.
const (
	shownDrift = 10
	shownHours = 24
)

func (p *page) fleet(*http.Request) (view, error) {
	v := view{Title: "Fleet"}
	nodes, err := p.Fleet.Nodes()
	if unread(nodes, err) {
		return v, err
	}
	now := p.Now()
	hours, hoursErr := p.Fleet.History()
	content := fleetView{
		Status: overview.StatusOf(nodes, now), History: chart.HistoryOf(hours, now), Latest: hours[:min(len(hours), shownHours)],
		Drifted: overview.Drifts(nodes, overview.Query{By: overview.ByResource, Since: now.Add(-overview.Recent), Top: shownDrift}),
	}
	switch {
	case isReading(hoursErr):
		err = errors.Join(err, hoursErr)
	case hoursErr != nil:
		content.HistoryProblem = text.Error(hoursErr)
	}
	v.Content = content
	return v, err
}

// A nodeRow is a row of the table of nodes.
type nodeRow struct {
	Name    string
	State   string
	Problem overview.Problem
	Counts  v1alpha1.RunCounts
	Drift   int64
	LastRun time.Time
}

func nodeStates() []string {
	return []string{overview.StateReady, overview.StateApplying, overview.StateFailed, overview.StateDisabled, overview.StateSilent}
}

// nodesView is the content of the page of nodes.
type nodesView struct {
	table[nodeRow]
	States []string
}

func (p *page) nodes(r *http.Request) (view, error) {
	v := view{Title: "Nodes"}
	f, err := filterOf(r, "q", "state")
	if err != nil {
		return v, err
	}
	state, err := f.oneOf("state", nodeStates()...)
	if err != nil {
		return v, err
	}
	nodes, err := p.Fleet.Nodes()
	if unread(nodes, err) {
		return v, err
	}
	var rows []nodeRow
	for _, n := range nodes {
		row := rowOf(n)
		if (state == "" || state == row.State) && f.matches(row.Name, row.Problem.Reason, row.Problem.Message) {
			rows = append(rows, row)
		}
	}
	v.Content = nodesView{tableOf(f, rows), nodeStates()}
	return v, err
}

func rowOf(n overview.Node) nodeRow {
	problem := overview.ProblemOf(n)
	row := nodeRow{Name: n.Name, State: problem.State(), Problem: problem}
	if n.Status.Counts != nil {
		row.Counts = *n.Status.Counts
	}
	for _, d := range n.Status.Drift {
		row.Drift += d.Count
	}
	if n.Status.LastRun != nil {
		row.LastRun = n.Status.LastRun.Started.Time
	}
	return row
}

// nodeView is the content of the page of a node.
type nodeView struct {
	nodeRow
	overview.Node
}

func (p *page) node(r *http.Request) (view, error) {
	name := r.PathValue("name")
	v := view{Title: name}
	nodes, err := p.Fleet.Nodes()
	i, found := slices.BinarySearchFunc(nodes, name, func(n overview.Node, name string) int { return strings.Compare(n.Name, name) })
	if !found && err == nil {
		return v, &failure{http.StatusNotFound, "There is no NodeCatalog " + name + "."}
	}
	if !found {
		return v, err
	}
	v.Content = nodeView{rowOf(nodes[i]), nodes[i]}
	return v, err
}

// driftView is the content of the page of drift.
type driftView struct {
	table[overview.Drift]
	By     string
	Groups []string
	Ages   []string
}

func (p *page) drift(r *http.Request) (view, error) {
	v := view{Title: "Drift"}
	f, err := filterOf(r, "q", "by", "since", "corrected")
	if err != nil {
		return v, err
	}
	groups := []string{overview.ByResource, overview.ByNode, overview.ByKind, overview.ByBoth}
	by, byErr := f.oneOf("by", groups...)
	ages := []string{"1h", "24h", "168h"}
	age, ageErr := f.oneOf("since", ages...)
	corrected, correctedErr := f.oneOf("corrected", "no")
	if err := errors.Join(byErr, ageErr, correctedErr); err != nil {
		return v, err
	}
	nodes, err := p.Fleet.Nodes()
	if unread(nodes, err) {
		return v, err
	}
	q := overview.Query{By: cmp.Or(by, overview.ByResource)}
	if age != "" {
		since, err := time.ParseDuration(age)
		if err != nil {
			return v, err
		}
		q.Since = p.Now().Add(-since)
	}
	rows := slices.DeleteFunc(overview.Drifts(nodes, q), func(d overview.Drift) bool {
		return corrected == "no" && d.Uncorrected == 0 || !f.matches(d.Kind, d.Resource, d.Node, strings.Join(d.Properties, " "))
	})
	v.Content = driftView{tableOf(f, rows), q.By, groups, ages}
	return v, err
}

// isReading reports whether something has yet to be read.
func isReading(err error) bool { return errors.Is(err, live.ErrReading) }
