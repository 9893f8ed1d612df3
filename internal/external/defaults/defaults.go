// Package defaults computes the values of attributes that resources of external types do not set.
package defaults

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	jsonutil "sigs.k8s.io/json"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/expression"
	"github.com/fettle-dev/fettle/internal/external/crdbuild"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/structural"
	"github.com/fettle-dev/fettle/internal/text"
)

// MaxCost limits the evaluation of all defaults of a resource, in units of [expression.MaxCost].
const MaxCost = expression.MaxCost / 10

var errTooCostly = errors.New("the defaults of a resource take more than about 10 ms or 4.8 MiB together: generate less text and shorter lists in the type")

// Defaults computes the default values of a type. Safe for concurrent use.
type Defaults struct {
	definition *definition.Definition
	schema     *structural.Schema // of the properties
	rules      *structural.Schema // of ensure and the properties, with the rules of the type; nil if there are none
	all        []attribute
	mu         sync.Mutex // a compiled expression has one evaluation at a time
}

// An attribute has a default.
type attribute struct {
	name  string
	kind  string // as in [definition.SchemaType]
	of    *v1alpha1.ExternalAttribute
	value *expression.Value
}

// New compiles the defaults of a type, with its definition by [crdbuild.Build]. The error joins the faults. Each names an
// attribute.
func New(d *definition.Definition, built *apiextensionsv1.CustomResourceDefinition) (*Defaults, error) {
	schema, err := structural.ForObjects(crdbuild.Properties(built))
	if err != nil {
		return nil, fmt.Errorf("spec.attributes: %w", err)
	}
	all := &Defaults{definition: d, schema: schema}
	if rules := crdbuild.Rules(d, built); rules != nil {
		if all.rules, err = structural.ForObjects(rules); err != nil {
			return nil, fmt.Errorf("spec.rules: %w", err)
		}
	}
	env := expression.ForAttributes()
	var faults []error
	for i := range d.Spec.Attributes {
		at := &d.Spec.Attributes[i]
		if at.Default == "" {
			continue
		}
		value, err := env.CompileValue(at.Default, definition.Types(at)...)
		if err != nil {
			faults = append(faults, fmt.Errorf("spec.attributes[%s].default: %w", at.Name, err))
			continue
		}
		all.all = append(all.all, attribute{at.Name, definition.SchemaType(at), at, value})
	}
	return all, errors.Join(faults...)
}

// Complete returns a copy of a resource with the attributes that it does not set, in the order of their declaration: an
// expression sees the defaults of those before it, but no sensitive value. An expression that returns dyn(null) leaves its
// attribute unset. The values that no API server has checked must fit the schemas of their attributes: those that were computed,
// and the Namevar that is the name of the resource. The error names the attribute, and no sensitive value.
func (d *Defaults) Complete(r *v1alpha1.External) (*v1alpha1.External, error) {
	out, _ := r.DeepCopyObject().(*v1alpha1.External)
	set, err := propertiesOf(r)
	if err != nil {
		return nil, err
	}
	was := maps.Clone(set)
	if err := d.addTo(set, r); err != nil {
		return nil, err
	}
	if err := errors.Join(d.check(r.Name, was, set), d.checkRules(r, set)); err != nil || len(set) == len(was) {
		return out, err
	}
	raw, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("properties: %w", err)
	}
	out.Spec.Properties = &runtime.RawExtension{Raw: raw}
	return out, nil
}

// addTo adds the missing attributes of a resource to those that it sets.
func (d *Defaults) addTo(set map[string]any, r *v1alpha1.External) error {
	self := d.visible(r, set)
	left := MaxCost
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, at := range d.all {
		if _, ok := set[at.name]; ok || fromSecret(r, at.name) {
			continue
		}
		value, cost, err := at.evaluate(map[string]any{"name": r.Name, "self": self}, left)
		if err != nil {
			return fmt.Errorf("properties.%s: cannot compute the default: %w", at.name, explain(err))
		}
		left -= cost
		if value == nil {
			continue
		}
		set[at.name] = value
		if !d.sensitive(at.name) {
			self[at.name] = converted(value, at.kind)
		}
	}
	return nil
}

// evaluate returns a value of the attribute's type, or nil.
func (a attribute) evaluate(vars map[string]any, limit int) (value any, cost int, err error) {
	value, cost, err = a.value.Evaluate(vars, limit)
	if err == nil && value != nil && !definition.Fits(a.of, value) {
		err = fmt.Errorf("it returns %s, but must return %s", definition.TypeOf(value), definition.TypeWords(a.of))
	}
	return value, cost, err
}

// propertiesOf decodes the properties of a resource. Integers stay integers.
func propertiesOf(r *v1alpha1.External) (map[string]any, error) {
	set := map[string]any{}
	if p := r.Spec.Properties; p != nil && len(p.Raw) > 0 {
		if err := jsonutil.UnmarshalCaseSensitivePreserveInts(p.Raw, &set); err != nil {
			return nil, fmt.Errorf("properties: %w", err)
		}
	}
	if set == nil { // the properties are null
		set = map[string]any{}
	}
	return set, nil
}

// visible returns what expressions see as self: the attributes that are set and not sensitive, the Namevar that is the
// name of the resource, and ensure.
func (d *Defaults) visible(r *v1alpha1.External, set map[string]any) map[string]any {
	spec := &d.definition.Spec
	self := map[string]any{}
	for i := range spec.Attributes {
		at := &spec.Attributes[i]
		if value, ok := set[at.Name]; ok && !at.Sensitive {
			self[at.Name] = converted(value, definition.SchemaType(at))
		}
	}
	if name := d.named(); name != "" && self[name] == nil {
		self[name] = r.Name
	}
	if ensure := cmp.Or(r.Spec.Ensure, spec.Ensure.Default); ensure != "" {
		self["ensure"] = ensure
	}
	return self
}

// named returns the Namevar that is the name of a resource unless it is set; "" if there is none.
func (d *Defaults) named() string {
	only := d.definition.Namevars()
	if len(only) != 1 || only[0].Default != "" || only[0].Required {
		return ""
	}
	return only[0].Name
}

func (d *Defaults) sensitive(name string) bool {
	return slices.ContainsFunc(d.definition.Spec.Attributes, func(a v1alpha1.ExternalAttribute) bool { return a.Name == name && a.Sensitive })
}

// fromSecret reports whether a Secret has the value of an attribute.
func fromSecret(r *v1alpha1.External, name string) bool {
	return slices.ContainsFunc(r.Spec.PropertiesFrom, func(p v1alpha1.PropertyFrom) bool { return p.Name == name })
}

// converted returns a number as expressions expect it of its type, however it was written.
func converted(value any, kind string) any {
	if n, ok := value.(int64); ok && kind == "number" {
		return float64(n)
	}
	return value
}

// maxError limits an error of an expression, in bytes.
const maxError = 512

// explain adds the fix to the most common error of an expression.
func explain(err error) error {
	if errors.Is(err, expression.ErrCutOff) {
		return errTooCostly
	}
	message := text.Clip(text.Line(err.Error()), maxError)
	if key, ok := strings.CutPrefix(message, "no such key: "); ok {
		return fmt.Errorf("it reads %s, which the resource does not set: set it, or test it with has(self.%s) in the type", key, key)
	}
	return errors.New(message)
}
