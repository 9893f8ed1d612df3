package defaults

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	jsonutil "sigs.k8s.io/json"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/structural"
)

// CheckConstants returns an error for each default that is constant and does not fit the schema of its attribute. It helps authors: resources
// that set such an attribute do not need its default.
func (d *Defaults) CheckConstants() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var faults []error
	for _, a := range d.all {
		if err := d.checkConstant(a); err != nil {
			faults = append(faults, fmt.Errorf("spec.attributes[%s].default: %w", a.name, err))
		}
	}
	return errors.Join(faults...)
}

// checkConstant returns what is wrong with a default that reads no attribute and no name: each resource would have it.
func (d *Defaults) checkConstant(a attribute) error {
	if _, _, err := a.value.Evaluate(map[string]any{}, MaxCost); err != nil {
		return nil //nolint:nilerr // it reads something, or fails for a resource
	}
	value, _, err := a.evaluate(map[string]any{}, MaxCost)
	if err != nil || value == nil {
		return err
	}
	all, err := d.faultsIn(map[string]any{a.name: value})
	for _, f := range all {
		if attributeOf(f) == a.name {
			return errors.New(d.message(f))
		}
	}
	return err
}

// check returns what is wrong with the attributes that a resource did not have: an API server has not checked them.
func (d *Defaults) check(name string, was, set map[string]any) error {
	unchecked := maps.Clone(set)
	maps.DeleteFunc(unchecked, func(name string, _ any) bool { _, ok := was[name]; return ok })
	named := d.named()
	if named != "" && set[named] == nil {
		unchecked[named] = name
	}
	if len(unchecked) == 0 {
		return nil
	}
	all, err := d.faultsIn(unchecked)
	for _, f := range all {
		at := attributeOf(f)
		switch _, ok := unchecked[at]; {
		case !ok: // another attribute is missing: the resource has it
		case at == named:
			err = errors.Join(err, fmt.Errorf("properties.%s: it is not set, and the name of the resource does not fit its schema: %s", at, d.message(f)))
		default:
			err = errors.Join(err, fmt.Errorf("properties.%s: the default does not fit its schema: %s", at, d.message(f)))
		}
	}
	return err
}

// checkRules returns which rules of the type the attributes of a resource do not meet together: an API server knows no defaults.
func (d *Defaults) checkRules(r *v1alpha1.External, set map[string]any) (err error) {
	if d.rules == nil {
		return nil
	}
	attributes, err := asStored(set)
	if err != nil {
		return err
	}
	spec := map[string]any{"properties": attributes}
	if e := cmp.Or(r.Spec.Ensure, d.definition.Spec.Ensure.Default); e != "" {
		spec["ensure"] = e
	}
	_, all := d.rules.Check(context.Background(), spec)
	for _, f := range all {
		if f.Field == "properties" {
			err = errors.Join(err, fmt.Errorf("properties: %s", f.Detail))
		}
	}
	return err
}

// faultsIn returns what an API server would reject in attributes, in the order of their names.
func (d *Defaults) faultsIn(attributes map[string]any) (field.ErrorList, error) {
	stored, err := asStored(attributes)
	if err != nil {
		return nil, err
	}
	_, all := d.schema.Check(context.Background(), stored)
	slices.SortStableFunc(all, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return all, nil
}

// asStored returns attributes as an API server would read them.
func asStored(attributes map[string]any) (stored map[string]any, err error) {
	raw, err := json.Marshal(attributes)
	if err == nil {
		err = jsonutil.UnmarshalCaseSensitivePreserveInts(raw, &stored)
	}
	if err != nil {
		return nil, fmt.Errorf("properties: %w", err)
	}
	return stored, nil
}

// message returns what is wrong with a value, without one that is sensitive.
func (d *Defaults) message(f *field.Error) string {
	if d.sensitive(attributeOf(f)) {
		return structural.MessageWithoutValue(f)
	}
	return structural.Message(f)
}

// attributeOf returns the attribute of a fault: the first part of its path.
func attributeOf(f *field.Error) string {
	name, _, _ := strings.Cut(f.Field, ".")
	name, _, _ = strings.Cut(name, "[")
	return name
}
