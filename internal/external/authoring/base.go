package authoring

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A document is an ExternalType as its author writes it. With a base, it is the type of another directory with fixed values of
// some attributes, and may have only the fields of [own].
type document struct {
	v1alpha1.ExternalType `json:",inline"`

	// Base is the directory or file of another type, or the manifest of a DSC resource, relative to the directory of this one.
	Base string `json:"base,omitempty"`
	// Fixed are values of attributes.
	Fixed map[string]any `json:"fixed,omitempty"`
	// Namevars replace the Namevars of the base that they name as programName.
	Namevars []v1alpha1.ExternalAttribute `json:"namevars,omitempty"`
}

// maxBases limits how many types a type may be derived from, one after the other.
const maxBases = 8

// specialize returns the type of a document in a directory.
func (r reader) specialize(ctx context.Context, doc *document, dir string, depth int) (*v1alpha1.ExternalType, error) {
	t := &doc.ExternalType
	if doc.Base == "" {
		if len(doc.Fixed)+len(doc.Namevars) > 0 {
			return nil, errors.New("fixed and namevars need base: remove them, or change the attributes")
		}
		return t, embed(t, dir)
	}
	if depth == maxBases {
		return nil, fmt.Errorf("base %q: there are more than %d types, one the base of the other", doc.Base, maxBases)
	}
	if !beside(doc.Base) {
		return nil, fmt.Errorf("base %q is not a path to another directory beside this one, such as ../dnsrecord", doc.Base)
	}
	all, err := r.read(ctx, filepath.Join(dir, doc.Base), depth+1)
	if err != nil {
		return nil, fmt.Errorf("base: %w", err)
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("base %q has %d types: name a file with one", doc.Base, len(all))
	}
	base := all[0]
	if err := fix(&base.Spec, doc.Fixed); err != nil {
		return nil, err
	}
	if err := rename(&base.Spec, doc.Namevars); err != nil {
		return nil, err
	}
	return t, derive(t, base)
}

// derive adds the spec of the base to a type.
func derive(t, base *v1alpha1.ExternalType) error {
	own := t.Spec
	rest := own
	rest.Kind, rest.ShortNames, rest.Version, rest.Description, rest.Example, rest.Unknown = "", nil, "", "", "", ""
	if !reflect.DeepEqual(rest, v1alpha1.ExternalTypeSpec{}) {
		return errors.New("a type with a base has kind, shortNames, version, description and example: remove the other fields of spec")
	}
	t.Spec = *base.Spec.DeepCopy()
	t.Spec.Kind, t.Spec.ShortNames, t.Spec.Unknown = own.Kind, own.ShortNames, cmp.Or(own.Unknown, base.Spec.Unknown)
	t.Spec.ProgramKind = cmp.Or(base.Spec.ProgramKind, base.Spec.Kind)
	for to, from := range map[*string]string{&t.Spec.Version: own.Version, &t.Spec.Description: own.Description, &t.Spec.Example: own.Example} {
		if from != "" {
			*to = from
		}
	}
	if own.Example == "" && base.Spec.Example != "" {
		return errors.New("spec.example is missing: that of the base has another kind")
	}
	return nil
}

// rename replaces Namevars by others from which Fettle computes them. What they do not set comes from the base.
func rename(spec *v1alpha1.ExternalTypeSpec, namevars []v1alpha1.ExternalAttribute) error {
	for _, own := range namevars {
		i := slices.IndexFunc(spec.Attributes, func(a v1alpha1.ExternalAttribute) bool {
			return a.Name == cmp.Or(own.ProgramName, own.Name) && a.Behaviour == v1alpha1.BehaviourNamevar
		})
		if i < 0 {
			return fmt.Errorf("namevars has %q with the programName %q, which is not a Namevar of the base", own.Name, own.ProgramName)
		}
		at := &spec.Attributes[i]
		switch {
		case at.ProgramName != "" || at.ProgramValue != "":
			return fmt.Errorf("namevars has %q: the base has already another name or value for %s; name its base", own.Name, at.Name)
		case own.ProgramValue != "" && own.Schema == nil:
			return fmt.Errorf("namevars has %q without a schema: with a programValue, that of the base is about another value", own.Name)
		}
		rest := own
		rest.Name, rest.ProgramName, rest.ProgramValue, rest.Description, rest.Schema, rest.Default = "", "", "", "", nil, ""
		if !reflect.DeepEqual(rest, v1alpha1.ExternalAttribute{}) {
			return fmt.Errorf("namevars has %q: it has name, programName, programValue, description, schema and default; remove the rest", own.Name)
		}
		at.Name, at.ProgramName, at.ProgramValue, at.Default = own.Name, own.ProgramName, own.ProgramValue, own.Default
		at.Description = cmp.Or(own.Description, at.Description)
		if own.Schema != nil {
			at.Schema = own.Schema
		}
	}
	return nil
}

// fix gives attributes a schema with one value, which is also their default.
func fix(spec *v1alpha1.ExternalTypeSpec, fixed map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(fixed)) {
		i := slices.IndexFunc(spec.Attributes, func(a v1alpha1.ExternalAttribute) bool { return a.Name == name })
		if i < 0 {
			return fmt.Errorf("fixed has %q, which is not an attribute of the base", name)
		}
		at := &spec.Attributes[i]
		if at.Sensitive || at.Behaviour == v1alpha1.BehaviourReadOnly {
			return fmt.Errorf("fixed has %q, which is sensitive or ReadOnly: leave it out", name)
		}
		value, err := literal(fixed[name])
		if err != nil {
			return fmt.Errorf("fixed.%s: %w", name, err)
		}
		schema := map[string]any{}
		if err := json.Unmarshal(at.Schema.Raw, &schema); err != nil {
			return fmt.Errorf("the schema of %s: %w", name, err)
		}
		if values, ok := schema["enum"].([]any); ok && !slices.ContainsFunc(values, func(v any) bool { return reflect.DeepEqual(v, fixed[name]) }) {
			return fmt.Errorf("fixed.%s is %s, which is not one of the values in its schema", name, value)
		}
		schema["enum"] = []any{fixed[name]}
		raw, err := json.Marshal(schema)
		if err != nil {
			return err
		}
		at.Schema, at.Default = &runtime.RawExtension{Raw: raw}, value
	}
	return nil
}

// literal returns a value as an expression.
func literal(value any) (string, error) {
	switch value.(type) {
	case string, bool, float64:
	default:
		return "", fmt.Errorf("%v is not text, a number or a boolean", value)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return strings.TrimSpace(out.String()), err
}

// beside reports whether a path leads to a directory beside the one of the type, and no further up.
func beside(path string) bool {
	rest, up := strings.CutPrefix(path, "../")
	return up && !strings.Contains(rest, "\n") && filepath.IsLocal(rest)
}
