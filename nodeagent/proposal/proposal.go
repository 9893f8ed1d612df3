// Package proposal decides what a plan says about a host: what a change of its catalog would be, and what it would do.
package proposal

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/nodeagent/catalogs"
)

// Apply returns the target after a change. The error says why the host cannot tell what the change would do.
func Apply(t *catalogs.Target, change *reports.Proposal) (*catalogs.Target, error) {
	if change == nil {
		return nil, errors.New("the question has no change of the catalog")
	}
	if t.Digest != change.Base {
		return nil, errors.New("the host is at another catalog than the cluster: wait until its NodeCatalog is Ready")
	}
	next := *t
	next.Digest, next.Entries = change.Digest, nil
	replaced := map[v1alpha1.ResourceRef]bool{}
	for _, e := range change.Entries {
		replaced[e.Ref()] = true
	}
	for _, ref := range change.Remove {
		replaced[ref] = true
	}
	for _, e := range t.Entries {
		if !replaced[e.Ref()] {
			next.Entries = append(next.Entries, e)
		}
	}
	next.Entries = append(next.Entries, change.Entries...)
	slices.SortFunc(next.Entries, func(a, b v1alpha1.CatalogEntry) int {
		return slices.Compare([]string{a.Kind, a.Name}, []string{b.Kind, b.Name})
	})
	next.Spec.Withheld = nil
	for _, ref := range change.Withheld {
		next.Spec.Withheld = append(next.Spec.Withheld, v1alpha1.Withheld{Ref: ref})
	}
	return &next, nil
}

// Effect returns the report of a simulated run after a change, with only the resources that the change affects: those whose reports
// differ from the ones of a simulated run before it. Of what such a run does not check it has what the change creates, replaces,
// removes or would refresh.
func Effect(before, after report.Report, entries []v1alpha1.CatalogEntry, change *reports.Proposal) report.Report {
	was := make(map[report.Ref]report.ResourceReport, len(before.Resources))
	for _, res := range before.Resources {
		was[res.Ref] = res
	}
	all := after.Resources
	after.Resources, after.Counts = []report.ResourceReport{}, report.Counts{}
	changed, refreshed := map[string]bool{}, map[string]bool{}
	for _, e := range change.Entries {
		changed[string(e.Ref())] = true
	}
	for _, ref := range change.Remove {
		changed[string(ref)] = true
	}
	affected := make([]bool, len(all))
	for i, res := range all {
		old, known := was[res.Ref]
		affected[i] = !known && !quiet(res) || known && !same(old, res)
		if affected[i] && res.State == report.Noop {
			for _, ref := range refreshes(entries, v1alpha1.ResourceRef(res.Ref.String())) {
				refreshed[string(ref)] = true
			}
		}
	}
	for i, res := range all {
		ref := res.Ref.String()
		if unchecked(res) && refreshed[ref] {
			res.Message = fmt.Sprintf("%s; the change would refresh it", res.Message)
		}
		if affected[i] || unchecked(res) && (changed[ref] || refreshed[ref]) {
			after.Resources = append(after.Resources, res)
			after.Counts.Add(res)
		}
	}
	return after
}

// unchecked reports whether a simulated run did not check a resource.
func unchecked(res report.ResourceReport) bool {
	return res.State == report.Skipped && strings.HasPrefix(res.Message, reports.NotChecked)
}

func quiet(res report.ResourceReport) bool {
	return res.State == report.InSync && len(res.Events) == 0 && res.Message == ""
}

// same reports whether two runs report the same of a resource.
func same(a, b report.ResourceReport) bool {
	a.Duration, b.Duration = 0, 0
	return reflect.DeepEqual(a, b)
}

// refreshes returns the resources that a resource refreshes when it changes.
func refreshes(entries []v1alpha1.CatalogEntry, changed v1alpha1.ResourceRef) (all []v1alpha1.ResourceRef) {
	for _, e := range entries {
		switch {
		case e.Edges == nil:
		case e.Ref() == changed:
			all = append(all, e.Edges.Notify...)
		case slices.Contains(e.Edges.Subscribe, changed):
			all = append(all, e.Ref())
		}
	}
	return all
}
