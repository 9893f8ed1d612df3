package compiler

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
)

// The limits of the targets of one CatalogRevision, and of the faults of one target, in bytes of JSON.
const (
	maxRevision = 512 << 10
	maxFaults   = 128 << 10
)

// A storedTarget is a target with the number of its resources.
type storedTarget struct {
	v1alpha1.RevisionTarget
	resources int
	line      string // the target as JSON
}

// lineOf returns JSON, which has no line breaks.
func lineOf(v any) string {
	raw, _ := json.Marshal(v) // types of the API encode
	return string(raw)
}

// splitTarget distributes faults over targets with the same targeting. The first one has everything else.
func splitTarget(t v1alpha1.RevisionTarget, resources int, faults []v1alpha1.RevisionFault) []storedTarget {
	var all []storedTarget
	for {
		n, size := 0, 0
		for n < len(faults) && size < maxFaults {
			size += len(lineOf(faults[n]))
			n++
		}
		t.Faulty = slices.Clip(faults[:n])
		all = append(all, storedTarget{t, resources, lineOf(t)})
		if faults = faults[n:]; len(faults) == 0 {
			return all
		}
		t.Catalogs, t.Sources, resources = nil, nil, 0
	}
}

// splitRevision distributes targets over as many CatalogRevisions as their size requires. The first one names the others, counts all, and has
// the types.
func splitRevision(targets []storedTarget, types []v1alpha1.TypeDefinition) []*v1alpha1.CatalogRevision {
	var parts []*v1alpha1.CatalogRevision
	size := 0
	for _, t := range targets {
		if len(parts) == 0 || size+len(t.line) > maxRevision {
			parts, size = append(parts, newRevision()), 0
		}
		size += len(t.line)
		part := parts[len(parts)-1]
		part.Targets = append(part.Targets, t.RevisionTarget)
		part.Count += int32(t.resources)
		part.Faults += int32(len(t.Faulty))
	}
	if len(parts) == 0 {
		parts = append(parts, newRevision())
	}
	first := parts[0]
	first.Types = types
	for _, part := range parts[1:] {
		part.Name = revisionName(part)
		first.Parts = append(first.Parts, v1alpha1.CatalogRef{Name: part.Name})
		first.Count += part.Count
		first.Faults += part.Faults
	}
	first.Name = revisionName(first)
	return parts
}

func newRevision() *v1alpha1.CatalogRevision {
	return &v1alpha1.CatalogRevision{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "CatalogRevision"},
		Targets:  []v1alpha1.RevisionTarget{},
	}
}

// revisionName returns the name of a CatalogRevision: the hash of its content.
func revisionName(r *v1alpha1.CatalogRevision) string {
	var lines []string
	for _, t := range r.Targets {
		lines = append(lines, lineOf(t))
	}
	for _, t := range r.Types {
		lines = append(lines, "type "+t.Type+" "+t.Catalog)
	}
	for _, part := range r.Parts {
		lines = append(lines, "part "+part.Name)
	}
	return catalog.NameOf(append(lines, "revision"))
}
