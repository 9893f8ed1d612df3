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
	replaced := changedBy(change)
	for _, e := range t.Entries {
		if !replaced[e.Ref()] {
			next.Entries = append(next.Entries, e)
		}
	}
	next.Entries = append(next.Entries, change.Entries...)
	slices.SortFunc(next.Entries, func(a, b v1alpha1.CatalogEntry) int {
		return slices.Compare([]string{a.Kind, a.Name}, []string{b.Kind, b.Name})
	})
	next.Spec.Withheld = withheldBy(change)
	return &next, nil
}

func withheldBy(change *reports.Proposal) []v1alpha1.Withheld {
	reasons := map[v1alpha1.ResourceRef]v1alpha1.Withheld{}
	for _, w := range change.Reasons {
		reasons[w.Ref] = w
	}
	var all []v1alpha1.Withheld
	for _, ref := range change.Withheld {
		w := reasons[ref]
		w.Ref = ref
		all = append(all, w)
	}
	return all
}

// Unopened returns a target without the values that come from Secrets, and the attributes of its resources that have them. What a
// plan does not open, it cannot tell, and the rest of these resources is compared.
func Unopened(t *catalogs.Target) (*catalogs.Target, map[v1alpha1.ResourceRef][]string) {
	attributes, opened := map[v1alpha1.ResourceRef][]string{}, *t
	opened.Entries = slices.Clone(t.Entries)
	for i, e := range opened.Entries {
		for _, s := range e.Sealed {
			attributes[e.Ref()] = append(attributes[e.Ref()], s.Attribute)
		}
		opened.Entries[i].Sealed = nil
	}
	return &opened, attributes
}

// NoteUnopened says in the report of a resource which of its attributes are not compared.
func NoteUnopened(res *report.ResourceReport, unopened map[v1alpha1.ResourceRef][]string) {
	attributes := unopened[refOf(*res)]
	if len(attributes) == 0 {
		return
	}
	note := fmt.Sprintf("%s%s, from a Secret", reports.NotCompared, strings.Join(attributes, ", "))
	if res.Message != "" {
		note = res.Message + "; " + note
	}
	res.Message = note
}

// Effect returns the report of a simulated run after a change, with only the resources that the change affects: those whose reports
// differ from the ones of a simulated run before it. Of what such a run does not check it has what the change creates, replaces,
// removes or would refresh.
func Effect(before, after report.Report, entries []v1alpha1.CatalogEntry, change *reports.Proposal) report.Report {
	differ, changed, all := differing(before.Resources, after.Resources), changedBy(change), after.Resources
	refreshed := refreshedBy(entries, changing(all, differ))
	after.Resources, after.Counts = []report.ResourceReport{}, report.Counts{}
	for _, res := range all {
		ref := refOf(res)
		if unchecked(res) && refreshed[ref] {
			res.Message += "; the change would refresh it"
		}
		if differ[res.Ref] || unchecked(res) && (changed[ref] || refreshed[ref]) || changed[ref] && strings.Contains(res.Message, reports.NotCompared) {
			after.Resources = append(after.Resources, res)
			after.Counts.Add(res)
		}
	}
	return after
}

// changing returns the resources that the change would have the agent change.
func changing(all []report.ResourceReport, differ map[report.Ref]bool) map[v1alpha1.ResourceRef]bool {
	refs := map[v1alpha1.ResourceRef]bool{}
	for _, res := range all {
		if res.State == report.Noop && differ[res.Ref] {
			refs[refOf(res)] = true
		}
	}
	return refs
}

func refOf(res report.ResourceReport) v1alpha1.ResourceRef {
	return v1alpha1.ResourceRef(res.Ref.String())
}

// changedBy returns the resources that a change creates, replaces or removes.
func changedBy(change *reports.Proposal) map[v1alpha1.ResourceRef]bool {
	changed := map[v1alpha1.ResourceRef]bool{}
	for _, e := range change.Entries {
		changed[e.Ref()] = true
	}
	for _, ref := range change.Remove {
		changed[ref] = true
	}
	return changed
}

// differing returns the resources of which two runs report something else. What only one of them has differs unless it is in sync.
func differing(before, after []report.ResourceReport) map[report.Ref]bool {
	was := make(map[report.Ref]report.ResourceReport, len(before))
	for _, res := range before {
		was[res.Ref] = res
	}
	differ := map[report.Ref]bool{}
	for _, res := range after {
		if old, known := was[res.Ref]; known && !same(old, res) || !known && !quiet(res) {
			differ[res.Ref] = true
		}
	}
	return differ
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

// refreshedBy returns the resources that changing ones refresh.
func refreshedBy(entries []v1alpha1.CatalogEntry, changing map[v1alpha1.ResourceRef]bool) map[v1alpha1.ResourceRef]bool {
	refreshed := map[v1alpha1.ResourceRef]bool{}
	for _, e := range entries {
		if e.Edges == nil {
			continue
		}
		if slices.ContainsFunc(e.Edges.Subscribe, func(ref v1alpha1.ResourceRef) bool { return changing[ref] }) {
			refreshed[e.Ref()] = true
		}
		if len(e.Edges.Notify) > 0 && changing[e.Ref()] {
			for _, ref := range e.Edges.Notify {
				refreshed[ref] = true
			}
		}
	}
	return refreshed
}
