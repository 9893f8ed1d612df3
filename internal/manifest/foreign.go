package manifest

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/puppet"
	"github.com/fettle-dev/fettle/internal/text"
)

// foreignField answers an unknown field of the spec that Puppet has; "" if it has none.
func (k kindSchema) foreignField(path []string, parent *schema.Structural) string {
	if len(path) != 2 || path[0] != "spec" {
		return ""
	}
	return puppet.Field(k.kind, path[1], slices.Sorted(maps.Keys(parent.Properties)))
}

// foreign answers a fault of a reference, or of a value that is one of Puppet's; "" for others.
func (k kindSchema) foreign(f *field.Error, object map[string]any) string {
	path := steps(f.Field)
	if len(path) < 2 || path[0] != "spec" {
		return ""
	}
	value, _ := lookup(object, f.Field)
	ref, isText := value.(string)
	switch {
	case len(path) == 3 && slices.Contains(v1alpha1.EdgeNames(), path[1]) && isText && f.Type == field.ErrorTypeInvalid:
		if said := puppet.Reference(ref, k.referable()); said != "" {
			return fmt.Sprintf("%q %s", text.Clip(ref, maxReference), said)
		}
	case len(path) == 2:
		return puppet.Value(k.kind, path[1], value)
	}
	return ""
}

// maxReference is how much of a reference, in bytes, a message quotes.
const maxReference = 200

// referable returns the kinds that references may name.
func (k kindSchema) referable() []string {
	var all []string
	for _, r := range v1alpha1.Resources() {
		all = append(all, r.KindName())
	}
	for _, d := range k.types.Definitions() {
		all = append(all, d.Spec.Kind)
	}
	return all
}
