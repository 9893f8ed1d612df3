package external

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/resource"
)

// property returns the property of an attribute, which compares and shows it.
func property(at *v1alpha1.ExternalAttribute) resource.Property[Attributes] {
	should := func(is, want Attributes) any {
		if v, ok := is.canonical[at.Name]; ok {
			return v
		}
		return want.values[at.Name]
	}
	return resource.Property[Attributes]{
		Name: at.Name, Doc: at.Description, Feature: resource.Feature(at.Feature),
		ReadOnly: at.Behaviour == v1alpha1.BehaviourReadOnly,
		Managed: func(want Attributes) bool {
			_, ok := want.values[at.Name]
			return ok && at.Behaviour != v1alpha1.BehaviourReadOnly
		},
		InSync: func(is, want Attributes) bool {
			if v, ok := is.verdicts[at.Name]; ok {
				return v.InSync
			}
			value, ok := is.values[at.Name]
			must := should(is, want)
			return (ok || must == nil) && inSync(at, value, must) // what is missing is null
		},
		Show:       func(a Attributes) string { return a.shown(a.values[at.Name]) },
		ShowShould: func(is, want Attributes) string { return is.shown(should(is, want)) },
		Sensitive:  func(want Attributes) bool { return isSensitive(at, want) },
		WasSecret:  func(Attributes) bool { return at.Sensitive },
		Token:      func(is Attributes) string { return show(is.values[at.Name]) },
		Diff:       func(is, _ Attributes) string { return is.verdicts[at.Name].Message },
		Same: func(was, is Attributes) bool {
			return show(was.values[at.Name]) == show(is.values[at.Name]) && was.sameVerdict(is, at.Name)
		},
		ValueFeature: func(want Attributes) resource.Feature {
			return resource.Feature(at.ValueFeatures[show(want.values[at.Name])])
		},
	}
}

// ensure returns the property that says whether a resource exists.
func ensure(d *definition.Definition) resource.Property[Attributes] {
	return resource.Property[Attributes]{
		Name: resource.Ensure, Doc: "ensure is " + strings.Join(d.Spec.Ensure.Values, ", ") + " or absent.",
		Managed: func(want Attributes) bool { return want.ensure() != "" },
		InSync: func(is, want Attributes) bool {
			if v, ok := is.verdicts[resource.Ensure]; ok {
				return v.InSync
			}
			return is.ensure() == want.ensure()
		},
		Show: Attributes.ensure,
		Diff: func(is, _ Attributes) string { return is.verdicts[resource.Ensure].Message },
		Same: func(was, is Attributes) bool {
			return was.ensure() == is.ensure() && was.sameVerdict(is, resource.Ensure)
		},
		ValueFeature: func(want Attributes) resource.Feature { return resource.Feature(d.Spec.Ensure.Features[want.ensure()]) },
	}
}

// sameVerdict reports whether the program decided the same about an attribute of two states: it may know more of it than its
// value, such as when a certificate ends.
func (a Attributes) sameVerdict(b Attributes, name string) bool {
	x, isDecided := a.verdicts[name]
	y, isStill := b.verdicts[name]
	return isDecided == isStill && x.InSync == y.InSync
}

// show formats a value for people: text as it is, everything else as JSON; "" for none.
func show(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(value) != nil { // it was JSON before
		return fmt.Sprint(value)
	}
	return strings.TrimSpace(out.String())
}

// inSync compares the values of an attribute.
func inSync(at *v1alpha1.ExternalAttribute, is, should any) bool {
	return matches(at, is, should, func(a, b any) bool { return equal(a, b, at.CaseInsensitive) })
}

// matches compares the values of an attribute, by a comparison of elements that are no lists.
func matches(at *v1alpha1.ExternalAttribute, is, should any, same func(is, should any) bool) bool {
	want, list := should.([]any)
	if !list {
		return same(is, should)
	}
	if at.Match == v1alpha1.MatchFirst {
		if has, ok := is.([]any); ok && len(has) == 1 {
			is = has[0]
		}
		return slices.ContainsFunc(want, func(w any) bool { return same(is, w) })
	}
	has, ok := is.([]any)
	switch {
	case !ok:
		return false
	case at.Match == v1alpha1.MatchOrdered:
		return slices.EqualFunc(has, want, same)
	case at.Match == v1alpha1.MatchMinimum:
		return assigned(has, want, same)
	}
	return len(has) == len(want) && assigned(has, want, same)
}

// equal compares JSON values: numbers by value, objects regardless of the order of their keys.
func equal(a, b any, foldCase bool) bool {
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		return ok && sameText(x, y, foldCase)
	case json.Number:
		y, ok := b.(json.Number)
		return ok && sameNumber(x, y)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, func(a, b any) bool { return equal(a, b, foldCase) })
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, func(a, b any) bool { return equal(a, b, foldCase) })
	}
	return a == b
}

func sameText(a, b string, foldCase bool) bool {
	return a == b || foldCase && strings.EqualFold(a, b)
}

// sameNumber compares exactly, but numbers with large exponents only as text: they would take much memory.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	const longest = 64
	if len(a) > longest || len(b) > longest || strings.ContainsAny(a.String()+b.String(), "eE") {
		x, errX := a.Float64()
		y, errY := b.Float64()
		return errX == nil && errY == nil && x == y
	}
	x, okX := new(big.Rat).SetString(a.String())
	y, okY := new(big.Rat).SetString(b.String())
	return okX && okY && x.Cmp(y) == 0
}
