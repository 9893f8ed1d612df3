// Package external makes resource types from ExternalTypes: their programs read and change the host.
package external

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// Files has the files of programs on hosts. Safe for concurrent use.
type Files interface {
	// Dir returns the directory on the host with the files of a type, which it has verified.
	Dir(ctx context.Context, h host.Reader, d *definition.Definition) (string, error)
}

// Kind returns the kind that an ExternalType defines. files may be nil if nothing is read or changed, such as in the
// manager.
func Kind(d *definition.Definition, files Files) resource.Kind { return bound.Kind(newType(d, files)) }

// Kinds returns the kinds that ExternalTypes define, in the same order.
func Kinds(all []*definition.Definition, files Files) []resource.Kind {
	kinds := make([]resource.Kind, len(all))
	for i, d := range all {
		kinds[i] = Kind(d, files)
	}
	return kinds
}

func newType(d *definition.Definition, files Files) *resource.Type[Attributes] {
	t := typed{d}
	r := &resource.Type[Attributes]{
		Name: d.Spec.Kind, Doc: d.Spec.Description, Example: d.Spec.Example,
		Properties: []resource.Property[Attributes]{ensure(d)},
		Secrets:    map[string]func(*Attributes, string){},

		From:           fromAPI,
		Namevar:        t.namevar,
		Identification: func(want Attributes) string { return d.Identification(want.values) },
		CanonicalName:  t.canonicalName,
		FormerName:     t.formerName,
		Exists:         func(is Attributes) bool { return is.ensure() != resource.Absent },
		Normalize:      t.normalize, Default: t.setDefaults, Validate: t.validate,
		Receive:  func(want *Attributes, related []resource.Related) { want.related = related },
		Deletion: &resource.Deletion[Attributes]{Delete: t.deleted},
		Traits:   resource.Traits{SideEffects: d.Spec.SideEffects, SelfRefresh: d.Spec.SelfRefresh, PreRunCheck: d.Answers(v1alpha1.RequestCheck), BatchAll: true, CanonicalNames: d.Answers(v1alpha1.RequestCanonicalize), Family: "ExternalType/" + d.Spec.ProgramKind},
	}
	if r.Example == "" {
		r.Example = "apiVersion: " + v1alpha1.ExternalGroupVersion.String() + "\nkind: " + d.Spec.Kind + "\nmetadata: {name: example}\nspec: {nodeSelector: {}}\n"
	}
	for _, f := range d.Spec.Features {
		r.Features = append(r.Features, resource.FeatureDoc{Name: resource.Feature(f.Name), Doc: f.Description})
	}
	for i := range d.Spec.Attributes {
		addAttribute(r, d, &d.Spec.Attributes[i])
	}
	for _, rel := range d.Spec.Relations {
		r.Auto = append(r.Auto, resource.AutoRelation[Attributes]{Relation: resource.RelationKind(rel.Relation), Kind: rel.Kind, Names: relatedNames(rel), SendDesired: rel.SendDesired})
	}
	for _, p := range d.Spec.Providers {
		r.Providers = append(r.Providers, newProvider(declared{typed: t, provider: p, files: files}))
	}
	return r
}

func addAttribute(r *resource.Type[Attributes], d *definition.Definition, at *v1alpha1.ExternalAttribute) {
	if d.CanBeSecret(at) {
		r.Secrets[at.Name] = func(want *Attributes, value string) {
			want.set(at.Name, secretValue(at, value))
			want.secrets = append(slices.Clip(want.secrets), at.Name)
		}
	}
	switch at.Behaviour {
	case v1alpha1.BehaviourNamevar:
		if r.NamevarName == "" {
			r.NamevarName = at.Name
		}
		r.Parameters = append(r.Parameters, resource.Parameter{Name: at.Name, Doc: at.Description, Public: true})
	case v1alpha1.BehaviourParameter:
		r.Parameters = append(r.Parameters, resource.Parameter{Name: at.Name, Doc: at.Description, Feature: resource.Feature(at.Feature), Public: !at.Sensitive, Sensitive: at.Sensitive})
	case v1alpha1.BehaviourProperty, v1alpha1.BehaviourInitOnly, v1alpha1.BehaviourReadOnly:
		r.Properties = append(r.Properties, property(at))
	}
}

// secretValue returns the value of an attribute from the text of a Secret, which is JSON for an object. validate refuses
// one that is not.
func secretValue(at *v1alpha1.ExternalAttribute, text string) any {
	if definition.SchemaType(at) != "object" {
		return text
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var object map[string]any
	if d.Decode(&object) != nil || object == nil {
		return text
	}
	return object
}
