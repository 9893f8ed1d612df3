package bound_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// sourced is a provider that shares its source with others.
type sourced struct {
	*able
	source string
}

func (p sourced) Source() string { return p.source }

func lister(name string, lamps ...string) *able {
	p := &able{plain: plain{name: name}, shines: map[string]lamp{}}
	for _, l := range lamps {
		p.shines[l] = lamp{Name: l, Ensure: new("present"), Colour: new(name)}
	}
	return p
}

func TestInstancesAreListedInOrder(t *testing.T) {
	p := &able{plain: plain{name: "all"}, shines: map[string]lamp{
		"b": {Name: "b", Ensure: new("present"), Colour: new("RED")}, "a": {Name: "a", Ensure: new("absent")},
	}}
	got, err := bound.Kind(lamps(p)).Instances(t.Context(), nil, nil, "")
	must(t, err)
	want := []resource.Instance{
		{Namevar: "a", CanonicalName: "a", Provider: "all", Attributes: json.RawMessage(`{"name":"a","ensure":"absent"}`)},
		{Namevar: "b", CanonicalName: "b", Provider: "all", Exists: true, Attributes: json.RawMessage(`{"name":"b","ensure":"present","colour":"red"}`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
}

func TestInstancesMergeAllProviders(t *testing.T) {
	usual := lister("usual", "b", "c")
	usual.on = "Debian"
	unsuited := lister("unsuited", "x")
	unsuited.err = errors.New("no fire")
	all := []resource.Provider[lamp]{unsuited, plain{name: "mute"}, lister("first", "a", "b", "d"), usual, lister("last", "d", "e")}
	same := []resource.Provider[lamp]{sourced{lister("dim", "a"), "mains"}, sourced{lister("flash", "a", "z"), "mains"}, sourced{lister("torch", "b"), ""}}
	tests := map[string]struct {
		providers []resource.Provider[lamp]
		named     string
		want      []string // name and provider
	}{
		"the default before the rest, and the first of a name": {all, "", []string{"a first", "b usual", "c usual", "d first", "e last"}},
		"the one that is named alone":                          {all, "last", []string{"d last", "e last"}},
		"one of a source":                                      {same, "", []string{"a dim", "b torch"}},
		"another of the source where it is named":              {same, "flash", []string{"a flash", "z flash"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			list, err := bound.Kind(lamps(test.providers...)).Instances(t.Context(), bookworm(), nil, test.named)
			must(t, err)
			var got []string
			for _, i := range list {
				got = append(got, i.Namevar+" "+i.Provider)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("instances (-want +got):\n%s", diff)
			}
		})
	}
}

func TestListingFailsWithAReason(t *testing.T) {
	_, err := bound.Kind(lamps(plain{name: "switch"})).Instances(t.Context(), nil, nil, "")
	wantError(t, err, "cannot list all of kind Lamp: provider switch can't; give a name")
	if _, ok := errors.AsType[*resource.NoListerError](err); !ok {
		t.Errorf("got a %T", err)
	}
	_, err = bound.Kind(lamps(lister("other", "a"), plain{name: "switch"})).Instances(t.Context(), nil, nil, "switch")
	wantError(t, err, "cannot list all of kind Lamp: provider switch can't; give a name")
	_, err = bound.Kind(lamps()).Instances(t.Context(), nil, nil, "torch")
	wantError(t, err, `provider "torch" is not one of kind Lamp, which has []`)
}

func TestChosenReturnsTheDefaultProvider(t *testing.T) {
	if got := resource.Chosen(bound.Kind(lamps(plain{name: "candle", err: errors.New("no fire")}, plain{name: "switch"})), nil, nil); got != "switch" {
		t.Errorf("it is %q", got)
	}
	if got := resource.Chosen(bound.Kind(lamps(plain{name: "candle", err: errors.New("no fire")})), nil, nil); got != "" {
		t.Errorf("where none suits it is %q", got)
	}
}
