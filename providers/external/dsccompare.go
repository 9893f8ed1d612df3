package external

import (
	"github.com/fettle-dev/fettle/internal/external/dsc"
)

// A comparison compares values as DSC does: of an object, only the keys that the desired one has count, and lists have the
// same length and are compared without order. Unlike DSC, no element stands for two desired ones, and numbers are compared by
// their values.
type comparison struct{ foldCase bool }

// A schema is a part of the JSON schema of a resource; nil for none.
type schema = map[string]any

// satisfies reports whether a value is as desired.
func (c comparison) satisfies(value, should any, s schema) bool {
	switch w := should.(type) {
	case map[string]any:
		object, ok := value.(map[string]any)
		return ok && c.object(object, w, s)
	case []any:
		list, ok := value.([]any)
		items := itemsOf(s, w)
		return ok && len(list) == len(w) && assigned(list, w, func(value, should any) bool { return c.satisfies(value, should, items) })
	}
	return equal(value, should, c.foldCase)
}

// object compares objects. What is only written is not compared, and what exists need not say it.
func (c comparison) object(value, should map[string]any, s schema) bool {
	properties, _ := s["properties"].(map[string]any)
	for name, w := range should {
		of, _ := properties[name].(map[string]any)
		if of["writeOnly"] == true || name == dsc.Exist {
			continue
		}
		v := valueOf(value, name, c.foldCase)
		if v == nil && !c.ofMissing(w, of) || v != nil && !c.satisfies(v, w, of) {
			return false
		}
	}
	return exists(value) == exists(should)
}

// exists is the property _exist, which is true if it is missing.
func exists(object map[string]any) bool {
	state, err := dsc.State(object).Canonical()
	return err != nil || state.Exist
}

// ofMissing reports whether a desired value is what a missing one stands for.
func (c comparison) ofMissing(should any, s schema) bool {
	if should == nil {
		return true
	}
	if object, ok := should.(map[string]any); ok && s["default"] == nil {
		return c.object(nil, object, s)
	}
	return s["default"] != nil && c.satisfies(s["default"], should, s)
}

// itemsOf returns the schema of the elements of a list, or the schema itself if the value is not a list.
func itemsOf(s schema, should any) schema {
	if _, list := should.([]any); !list {
		return s
	}
	items, _ := s["items"].(map[string]any)
	return items
}

// valueOf returns the property of an object, also one in another case; nil if there is none.
func valueOf(object map[string]any, name string, foldCase bool) any {
	if v, ok := object[name]; ok || !foldCase {
		return v
	}
	for other, v := range object {
		if sameText(other, name, true) {
			return v
		}
	}
	return nil
}

// assigned reports whether each desired element has an element of its own that satisfies it. A choice that was made before is
// changed if that helps: of the elements {a} and {a, b}, a desired {a} must leave {a, b} to a desired {a, b}.
func assigned(has, want []any, satisfies func(value, should any) bool) bool {
	m := &matching{has: has, want: want, satisfies: satisfies, by: make([]int, len(has))}
	for w := range want {
		if !m.free(w) && !m.exchanged(w, make([]bool, len(has))) {
			return false
		}
	}
	return true
}

// A matching assigns elements to desired ones.
type matching struct {
	has, want []any
	satisfies func(value, should any) bool
	by        []int // for each element, the desired one that it is assigned to, counted from 1; 0 for none
}

// free assigns an element that nobody has.
func (m *matching) free(w int) bool {
	for i, h := range m.has {
		if m.by[i] == 0 && m.satisfies(h, m.want[w]) {
			m.by[i] = w + 1
			return true
		}
	}
	return false
}

// exchanged assigns an element whose owner can have another one. Those that were seen cannot be exchanged.
func (m *matching) exchanged(w int, seen []bool) bool {
	for i, h := range m.has {
		if seen[i] || m.by[i] == 0 || !m.satisfies(h, m.want[w]) {
			continue
		}
		seen[i] = true
		if owner := m.by[i] - 1; m.free(owner) || m.exchanged(owner, seen) {
			m.by[i] = w + 1
			return true
		}
	}
	return false
}
