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
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
	"github.com/fettle-dev/fettle/internal/text"
)

// isUnknown reports whether nothing is known yet, or ever will be with this error.
func isUnknown[T any](all []T, err error) bool { return err != nil && len(all) == 0 }

// fleetView is the content of the first page.
type fleetView struct {
	overview.Status
	// Groups are the nodes that are not in sync, by state and reason, problems first.
	Groups         []overview.ProblemGroup
	OmittedGroups  int
	History        chart.History
	HistoryProblem string // why it is not known
	Latest         []v1alpha1.FleetHour
	Drifted        []overview.Drift // most frequent first
	RolloutProblem string           // why the policies are not known
}

// Rows on the first page.
const (
	shownDrift  = 10
	shownHours  = 24
	shownGroups = 20
)

func (p *page) fleet(*http.Request) (view, error) {
	v := view{Title: "Fleet"}
	nodes, err := p.Source.NodeCatalogs()
	if isUnknown(nodes, err) {
		return v, err
	}
	now := p.Now()
	fleet, fleetErr := p.Source.FleetStatus()
	content := fleetView{
		Status: overview.StatusOf(nodes, now), History: chart.HistoryOf(fleet.History, now), Latest: fleet.History[:min(len(fleet.History), shownHours)],
		Drifted: overview.Drifts(nodes, overview.Query{By: overview.ByResource, Since: now.Add(-overview.Recent), Top: shownDrift}),
	}
	content.Deselection = fleet.Deselection
	groups := overview.GroupedProblems(slices.Concat(content.Problems, content.Others))
	content.Groups = groups[:min(len(groups), shownGroups)]
	content.OmittedGroups = len(groups) - len(content.Groups)
	policies, policiesErr := p.Source.Policies()
	content.Rollouts = overview.Unsettled(policies)
	content.HistoryProblem, content.RolloutProblem = problem(fleetErr), problem(policiesErr)
	v.Content = content
	return v, errors.Join(err, reading(fleetErr), reading(policiesErr))
}

// problem is why a part of a page is not known; "" if it is, or has yet to be read.
func problem(err error) string {
	if err == nil || isReading(err) {
		return ""
	}
	return text.Error(err)
}

// reading is the error of a part of a page that has yet to be read; nil for others, which do not concern the rest.
func reading(err error) error {
	if isReading(err) {
		return err
	}
	return nil
}

// A figure is a number with its name, and a link to what it counts.
type figure struct {
	Name  string
	State string // of its color
	Count int64
	Query string // of the link; "" for none
}

// NodeFigures are the nodes by state: those in sync, and the total.
func (v fleetView) NodeFigures() []figure {
	n := v.Nodes
	return shown(
		figure{"In sync", "InSync", int64(n.InSync), "InSync"}, figure{"Held", "Held", int64(n.Held), "Held"}, figure{"Failed", "Failed", int64(n.Failed), "Failed"},
		figure{"Withheld", "Withheld", int64(n.Withheld), "Withheld"}, figure{"Silent", "Silent", int64(n.Silent), "Silent"},
		figure{"Disabled", "Disabled", int64(n.Disabled), "Disabled"}, figure{"Out of sync", "OutOfSync", int64(n.OutOfSync), "OutOfSync"},
		figure{"Pending", "Pending", int64(n.Pending), "Pending"})
}

// ResourceFigures are the resources on nodes by state.
func (v fleetView) ResourceFigures() []figure {
	r := v.Resources
	return shown(
		figure{"In sync", "InSync", r.InSync, ""}, figure{"Failed", "Failed", r.Failed, ""}, figure{"Withheld", "Withheld", r.Withheld, ""},
		figure{"Skipped", "Skipped", r.Skipped, ""}, figure{"Unknown", "Unknown", r.Unknown, ""}, figure{"Disabled", "Disabled", r.Disabled, ""},
		figure{"Noop", "Noop", r.Noop, ""})
}

// shown leaves out zeros, except for the first.
func shown(all ...figure) (some []figure) {
	for i, f := range all {
		if i == 0 || f.Count > 0 {
			some = append(some, f)
		}
	}
	return some
}

// A nodeRow is a row of the table of nodes.
type nodeRow struct {
	Name string
	nodestate.Status
	Counts  nodestate.Counts
	Drift   int64
	LastRun time.Time
}

func nodeStates() (all []string) {
	for _, s := range nodestate.States() {
		all = append(all, string(s))
	}
	return all
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
	nodes, err := p.Source.NodeCatalogs()
	if isUnknown(nodes, err) {
		return v, err
	}
	var rows []nodeRow
	for _, n := range nodes {
		row := rowOf(n)
		if (state == "" || state == string(row.State)) && f.matches(row.Name, row.Reason, row.Message) {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b nodeRow) int { return overview.Urgency(a.State) - overview.Urgency(b.State) })
	v.Content = nodesView{tableOf(f, rows), nodeStates()}
	return v, err
}

func rowOf(n overview.NodeCatalog) nodeRow {
	row := nodeRow{Name: n.Name, Status: n.State(), Counts: n.Counts()}
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
	Node      overview.NodeCatalog
	NotInSync []v1alpha1.ResourceReport
	Corrected []v1alpha1.ResourceReport // by the last run
	Rollout   waitView
}

func viewOf(n overview.NodeCatalog) nodeView {
	v := nodeView{nodeRow: rowOf(n), Node: n}
	for _, r := range n.Status.Resources {
		if nodestate.Healthy(r.State) {
			v.Corrected = append(v.Corrected, r)
		} else {
			v.NotInSync = append(v.NotInSync, r)
		}
	}
	return v
}

func (p *page) node(r *http.Request) (view, error) {
	name := r.PathValue("name")
	v := view{Title: name}
	nodes, err := p.Source.NodeCatalogs()
	i, found := slices.BinarySearchFunc(nodes, name, func(n overview.NodeCatalog, name string) int { return strings.Compare(n.Name, name) })
	if !found && err == nil {
		return v, &failure{http.StatusNotFound, "There is no NodeCatalog " + name + "."}
	}
	if !found {
		return v, err
	}
	content := viewOf(nodes[i])
	content.Rollout = p.waitOf(r.Context(), nodes[i])
	v.Content = content
	return v, errors.Join(err, reading(content.Rollout.err))
}

// driftView is the content of the page of drift.
type driftView struct {
	table[overview.Drift]
	By     string
	Groups []string
	Ages   []string
	// Unchecked says where drift is not known.
	Unchecked []overview.Unchecked
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
	nodes, err := p.Source.NodeCatalogs()
	if isUnknown(nodes, err) {
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
	v.Content = driftView{tableOf(f, rows), q.By, groups, ages, overview.UncheckedBy(nodes, q)}
	return v, err
}

// isReading reports whether something has yet to be read.
func isReading(err error) bool { return errors.Is(err, live.ErrReading) }
