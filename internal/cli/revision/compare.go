package revision

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A Change is a resource that two revisions have differently.
type Change struct {
	Ref v1alpha1.ResourceRef `json:"ref"`
	// Action is Add, Change, Remove or Withhold.
	Action reports.Action `json:"action"`
	// Diff is the unified diff of targeting and attributes. Sensitive values are redacted.
	Diff string `json:"diff"`
}

// Changed returns the resources that two revisions have differently, sorted.
func Changed(was, is Content) (refs []v1alpha1.ResourceRef) {
	all := Content{}
	maps.Copy(all, was)
	maps.Copy(all, is)
	for ref := range all {
		old, now := was.of(ref), is.of(ref)
		if reflect.DeepEqual(old, now) { // most are the same entry of the same Catalog
			continue
		}
		if !reflect.DeepEqual(old.fields(), now.fields()) {
			refs = append(refs, ref)
		}
	}
	slices.Sort(refs)
	return refs
}

// of returns a resource; nil if the revision lacks it.
func (c Content) of(ref v1alpha1.ResourceRef) *Resource {
	if r, has := c[ref]; has {
		return &r
	}
	return nil
}

// A Version is a revision with the name that diffs have for it.
type Version struct {
	Name    string
	Content Content
}

// Compare returns what differs in the resources of two revisions, by name.
func Compare(was, is Version, secrets Secrets) []Change {
	changes := []Change{}
	for _, ref := range Changed(was.Content, is.Content) {
		old, now := was.Content.of(ref), is.Content.of(ref)
		before, after := old.fields(), now.fields()
		kind, _, _ := strings.Cut(string(ref), "/")
		secrets.redact(kind, before, after)
		changes = append(changes, Change{ref, actionOf(old, now), unified(string(ref), was.Name, is.Name, yamlOf(before), yamlOf(after))})
	}
	return changes
}

// unified returns a diff without the line that names a command.
func unified(ref, wasName, isName, was, is string) string {
	text := diff.Diff(ref+" ("+wasName+")", []byte(was), ref+" ("+isName+")", []byte(is))
	_, rest, _ := strings.Cut(string(text), "\n")
	return rest
}

func actionOf(old, now *Resource) reports.Action {
	switch {
	case now == nil:
		return reports.ActionRemove
	case now.Fault != nil:
		return reports.ActionWithhold
	case old == nil:
		return reports.ActionAdd
	}
	return reports.ActionChange
}
