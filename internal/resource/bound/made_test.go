package bound_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

// becoming is a provider whose Write makes the lamp what it is told.
type becoming struct {
	plain
	is *lamp
	to lamp
}

func (p becoming) Read(context.Context, resource.Reader, lamp) (lamp, error) { return *p.is, nil }

func (p becoming) Write(context.Context, resource.Writer, lamp, lamp, []resource.Change) error {
	*p.is = p.to
	return nil
}

func (p becoming) Features() []resource.Feature { return []resource.Feature{colourful} }

func TestMadeIsWhatDiffersSinceTheWrite(t *testing.T) {
	hall := func(colour string, watts int, code string, rooms ...string) lamp {
		return lamp{Name: "hall", Ensure: new(resource.Present), Colour: &colour, Watts: &watts, Code: &code, Rooms: rooms}
	}
	for name, c := range map[string]struct {
		is, to lamp
		want   []string
	}{
		"nothing": {hall("red", 1, "a"), hall("red", 1, "a"), nil},
		"all that was planned": {
			hall("red", 1, "a", "attic"), hall("blue", 2, "b", "attic", "hall"),
			[]string{"colour: colour changed red to blue", "watts: watts changed 1 to 2", "rooms: rooms changed attic to attic,hall", "code: changed code"},
		},
		"a part of it":                {hall("red", 1, "a", "hall"), hall("blue", 1, "a", "hall"), []string{"colour: colour changed red to blue"}},
		"a secret that no text shows": {hall("blue", 2, "a", "hall"), hall("blue", 2, "b", "hall"), []string{"code: changed code"}},
		"members that others have added meanwhile": {
			hall("blue", 2, "b"), hall("blue", 2, "b", "attic", "hall"), []string{"rooms: rooms defined as attic,hall"},
		},
	} {
		typ := lamps(becoming{plain{name: "p"}, &c.is, c.to})
		for i := range typ.Properties {
			if p := &typ.Properties[i]; p.Name == "code" {
				p.Show = func(lamp) string { return redact.Mark }
			}
		}
		r, err := bound.Kind(typ).Bind(resource.Ref{Kind: "Lamp", Name: "hall"}, json.RawMessage(`{"colour":"blue","watts":2,"rooms":["hall"],"code":"b"}`))
		must(t, err)
		must(t, r.Choose(resource.Facts{}, nil, ""))
		must(t, r.Read(t.Context(), resource.Call{}.Reader(nil)))
		planned := r.Compare().Changes
		must(t, r.Write(t.Context(), resource.Call{}.Writer(nil), planned))
		must(t, r.Read(t.Context(), resource.Call{}.Reader(nil)))
		var got []string
		for _, made := range r.Made(planned) {
			got = append(got, made.Property+": "+made.Message)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Nobody can tell whether it changes, so others are compared too.
func TestUnknownEnsureHidesNoOtherChange(t *testing.T) {
	is := lamp{Name: "hall", Ensure: new("dusty"), Colour: new("red")}
	typ := lamps(becoming{plain{name: "p"}, &is, is})
	typ.Properties[0].Unknown = func(lamp, lamp) string { return "the inventory is old" }
	r, err := bound.Kind(typ).Bind(resource.Ref{Kind: "Lamp", Name: "hall"}, json.RawMessage(`{"colour":"blue"}`))
	must(t, err)
	must(t, r.Choose(resource.Facts{}, nil, ""))
	must(t, r.Read(t.Context(), resource.Call{}.Reader(nil)))
	want := []resource.Change{
		{Property: "ensure", Is: "dusty", Should: "present", Message: "ensure may change from dusty", Unknown: "the inventory is old"},
		{Property: "colour", Is: "red", Should: "blue", Message: "colour changed red to blue", Diff: "-red\n+blue"},
	}
	if diff := cmp.Diff(want, r.Compare().Changes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
