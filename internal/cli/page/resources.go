package page

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/overview"
)

// A resourceRow is a row of the table of resources.
type resourceRow struct {
	Kind, Name      string
	State           string
	Reason, Message string // of its condition Ready
	Nodes           v1alpha1.NodeCounts
	Drift           int64 // how often it drifted, on all nodes together
}

// States of a resource on all its nodes together.
const (
	resourceReady    = "Ready"
	resourceNotReady = "NotReady"
	resourceUnknown  = "Unknown"
)

func urgentFirst() []string { return []string{resourceNotReady, resourceUnknown, resourceReady} }

func resourceStates() []string { return []string{resourceReady, resourceNotReady, resourceUnknown} }

// resourcesView is the content of the page of resources.
type resourcesView struct {
	table[resourceRow]
	Kinds, States []string
}

func (p *page) resources(r *http.Request) (view, error) {
	v := view{Title: "Resources"}
	f, err := filterOf(r, "q", "kind", "state")
	if err != nil {
		return v, err
	}
	state, err := f.oneOf("state", resourceStates()...)
	if err != nil {
		return v, err
	}
	all, err := p.Source.Resources(r.Context())
	if isUnknown(all, err) {
		return v, err
	}
	rows, kinds := resourceRows(all, f, state)
	v.Content = resourcesView{tableOf(f, rows), kinds, resourceStates()}
	return v, err
}

// resourceRows returns the resources that a filter selects, and all kinds.
func resourceRows(all []overview.Resource, f filter, state string) (rows []resourceRow, kinds []string) {
	kind := f.Get("kind")
	for _, r := range all {
		if !slices.Contains(kinds, r.Kind) {
			kinds = append(kinds, r.Kind)
		}
		row := rowOfResource(r)
		if (state == "" || state == row.State) && (kind == "" || kind == r.Kind) && f.matches(row.Kind+"/"+row.Name, row.Reason, row.Message) {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b resourceRow) int {
		return slices.Index(urgentFirst(), a.State) - slices.Index(urgentFirst(), b.State)
	})
	return rows, kinds
}

func rowOfResource(r overview.Resource) resourceRow {
	row := resourceRow{Kind: r.Kind, Name: r.Name, State: resourceUnknown}
	if r.Status.Nodes != nil {
		row.Nodes = *r.Status.Nodes
	}
	if r.Status.Drift != nil {
		row.Drift = r.Status.Drift.Count
	}
	ready := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return row
	}
	row.Reason, row.Message = ready.Reason, ready.Message
	switch ready.Status {
	case metav1.ConditionTrue:
		row.State = resourceReady
	case metav1.ConditionFalse:
		row.State = resourceNotReady
	case metav1.ConditionUnknown:
	}
	return row
}

// resourceView is the content of the page of a resource.
type resourceView struct {
	resourceRow
	overview.Resource
	Selects string
	Edges   []edges
	On      table[overview.Explanation]
	States  []string
	Invalid string // why the resource selects no nodes
	Problem string // why it is not known which nodes wait for a rollout
}

// edges are relations of one kind.
type edges struct {
	Name string
	Refs []v1alpha1.ResourceRef
}

func (p *page) resource(r *http.Request) (view, error) {
	kind, name := r.PathValue("kind"), r.PathValue("name")
	v := view{Title: kind + "/" + name}
	f, err := filterOf(r, "q", "state")
	if err != nil {
		return v, err
	}
	all, err := p.Source.Resources(r.Context())
	i := slices.IndexFunc(all, func(r overview.Resource) bool { return strings.EqualFold(r.Kind, kind) && r.Name == name })
	if i < 0 && err == nil {
		return v, &failure{http.StatusNotFound, "There is no " + kind + "/" + name + "."}
	}
	if i < 0 {
		return v, err
	}
	nodes, err := p.Source.Nodes()
	if isReading(err) {
		return v, err
	}
	content := resourceView{resourceRow: rowOfResource(all[i]), Resource: all[i], Edges: edgesOf(&all[i].Spec.Edges), Selects: overview.Selects(all[i])}
	waits, waitsErr := p.Source.Waits(r.Context(), nodes)
	content.Problem = problem(waitsErr)
	content.explain(f, nodes, waits)
	v.Content = content
	return v, errors.Join(err, reading(waitsErr))
}

// explain adds the nodes that the resource selects, as far as they match the filter, and all their states.
func (v *resourceView) explain(f filter, nodes []overview.Node, waits overview.Waits) {
	all, err := overview.Why(v.Resource, nodes)
	if err != nil {
		v.Invalid = err.Error()
	} else {
		waits.Explain(v.Ref(), all, nodes)
	}
	state := f.Get("state")
	var rows []overview.Explanation
	for _, e := range all {
		if !e.Shown() {
			continue
		}
		if !slices.Contains(v.States, string(e.State)) {
			v.States = append(v.States, string(e.State))
		}
		if (state == "" || state == string(e.State)) && f.matches(e.Node, e.Reason) {
			rows = append(rows, e)
		}
	}
	slices.Sort(v.States)
	overview.SortExplanations(rows)
	v.On = tableOf(f, rows)
}

// edgesOf returns the relations that a resource names, by kind.
func edgesOf(e *v1alpha1.Edges) []edges {
	if e == nil {
		return nil
	}
	return slices.DeleteFunc([]edges{
		{"Requires", e.Require}, {"Before", e.Before}, {"Notifies", e.Notify}, {"Subscribes to", e.Subscribe},
	}, func(e edges) bool { return len(e.Refs) == 0 })
}
