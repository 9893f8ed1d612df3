package bound_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

func TestPropertyStatesOfATracedRead(t *testing.T) {
	is := lamp{Name: "desk", Ensure: new(resource.Present), Colour: new("RED"), Watts: new(40), Code: new("old c0de")}
	r := chosen(t, lamps(plain{name: "plain", is: is}), `{"colour": "Blue", "watts": 40, "rooms": ["hall"], "code": "new c0de"}`)
	must(t, r.Read(t.Context(), resource.Call{Trace: true}.Reader(nil)))
	want := []resource.PropertyState{
		{Property: "ensure", Current: "present", Normalized: "present", Target: "present"},
		{Property: "colour", Current: "RED", Normalized: "red", Target: "blue"},
		{Property: "watts", Current: "40", Normalized: "40", Target: "40"},
		{Property: "rooms", Current: "", Normalized: "", Target: "hall"},
		{Property: "code", Current: "[redacted]", Normalized: "[redacted]", Target: "[redacted]"},
	}
	if diff := cmp.Diff(want, r.PropertyStates()); diff != "" {
		t.Error(diff)
	}
}

func TestPropertyStatesOfAbsentResource(t *testing.T) {
	r := chosen(t, lamps(plain{name: "plain", is: lamp{Name: "desk", Watts: new(40)}}), `{"watts": 60, "rooms": []}`)
	must(t, r.Read(t.Context(), resource.Call{}.Reader(nil)))
	want := []resource.PropertyState{{Property: "ensure", Target: "present"}, {Property: "watts", Target: "60"}}
	if diff := cmp.Diff(want, r.PropertyStates()); diff != "" {
		t.Error(diff)
	}
}

// careless are lamps whose author forgot that a code from a Secret is sensitive.
func careless(is lamp) *resource.Type[lamp] {
	typ := lamps(plain{name: "plain", is: is})
	typ.Secrets = map[string]func(*lamp, string){"code": func(a *lamp, value string) { a.Code = &value }}
	for i := range typ.Properties {
		typ.Properties[i].Sensitive, typ.Properties[i].Diff = nil, nil
	}
	return typ
}

func TestSecretValueIsHiddenEvenIfItsPropertyIsNotSensitive(t *testing.T) {
	is := lamp{Name: "desk", Ensure: new(resource.Present), Code: new("old c0de")}
	r, err := bound.Kind(careless(is)).Bind(resource.Ref{Kind: "Lamp", Name: "desk"}, json.RawMessage(`{}`), resource.Secret{Attribute: "code", Value: "new c0de"})
	must(t, err)
	must(t, r.Audit([]string{"code"}))
	must(t, r.Choose(nil, nil, ""))
	must(t, r.Read(t.Context(), resource.Call{Trace: true}.Reader(nil)))
	states := []resource.PropertyState{
		{Property: "ensure", Current: "present", Normalized: "present", Target: "present"},
		{Property: "code", Current: "[redacted]", Normalized: "[redacted]", Target: "[redacted]"},
	}
	if diff := cmp.Diff(states, r.PropertyStates()); diff != "" {
		t.Errorf("states of properties: %s", diff)
	}
	comparison := resource.Comparison{
		Exists: true, Observed: map[string]string{"ensure": "present"},
		Changes: []resource.Change{{Property: "code", Is: "[redacted]", Should: "[redacted]", Message: "changed code", Sensitive: true}},
	}
	if diff := cmp.Diff(comparison, r.Compare()); diff != "" {
		t.Errorf("comparison: %s", diff)
	}
	if got := string(r.State().Attributes); got != `{"ensure":"present","name":"desk"}` {
		t.Errorf("state: %s", got)
	}
	if got := r.Audited([]byte("key")); len(got) != 1 || !got[0].Sensitive {
		t.Errorf("audited: %v", got)
	}
}

func TestPropertySensitiveBeforeNormalizationIsHidden(t *testing.T) {
	typ := careless(lamp{Name: "desk", Ensure: new(resource.Present), Colour: new("RED")})
	for i := range typ.Properties {
		if typ.Properties[i].Name == "colour" {
			typ.Properties[i].WasSecret = func(is lamp) bool { return *is.Colour == "RED" }
		}
	}
	r := chosen(t, typ, `{"colour": "blue"}`)
	must(t, r.Read(t.Context(), resource.Call{Trace: true}.Reader(nil)))
	want := resource.PropertyState{Property: "colour", Current: "[redacted]", Normalized: "[redacted]", Target: "[redacted]"}
	if diff := cmp.Diff(want, r.PropertyStates()[1]); diff != "" {
		t.Error(diff)
	}
}
