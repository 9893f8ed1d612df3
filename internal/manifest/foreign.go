package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

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

// foreignValue answers a fault of a value that is one of Puppet's; "" for others.
func (k kindSchema) foreignValue(f *field.Error, object map[string]any) string {
	path := steps(f.Field)
	if len(path) != 2 || path[0] != "spec" {
		return ""
	}
	value, _ := lookup(object, f.Field)
	return puppet.Value(k.kind, path[1], value)
}

// foreignReferences returns a field error for each entry of a list of references that is not a reference; nil if f is about something
// else.
func (k kindSchema) foreignReferences(f *field.Error, object map[string]any) []fieldError {
	path := steps(f.Field)
	if len(path) != 2 || path[0] != "spec" || !slices.Contains(v1alpha1.EdgeNames(), path[1]) || f.Type != field.ErrorTypeInvalid {
		return nil
	}
	value, _ := lookup(object, f.Field)
	refs, _ := value.([]any)
	var errs []fieldError
	for i, ref := range refs {
		if text, _ := ref.(string); !puppet.IsReference(text) {
			errs = append(errs, fieldError{fmt.Sprintf("%s[%d]", f.Field, i), quoted(text) + " " + puppet.Reference(text, k.referable())})
		}
	}
	return errs
}

func quoted(reference string) string { return strconv.Quote(text.Clip(reference, maxReference)) }

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
