package bound_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// lamp is the attributes of the type that these tests are about.
type lamp struct {
	Name    string   `json:"name,omitempty"`
	Ensure  *string  `json:"ensure,omitempty"`
	Colour  *string  `json:"colour,omitempty"`
	Watts   *int     `json:"watts,omitempty"`
	Rooms   []string `json:"rooms,omitzero"`
	AllOf   bool     `json:"allOf,omitempty"`
	Code    *string  `json:"code,omitempty"`
	Dimming *bool    `json:"dimming,omitempty"`
}

const (
	colourful resource.Feature = "colourful"
	dimmable  resource.Feature = "dimmable"
	ultra     resource.Feature = "ultraviolet"
)

func lamps(providers ...resource.Provider[lamp]) *resource.Type[lamp] {
	colour := resource.Field("colour", "Its colour.", func(a *lamp) *string { return a.Colour })
	colour.Feature = colourful
	colour.ValueFeature = func(want lamp) resource.Feature {
		if *want.Colour == "violet" {
			return ultra
		}
		return ""
	}
	colour.Diff = func(is, want lamp) string { return "-" + *is.Colour + "\n+" + *want.Colour }
	code := resource.Field("code", "What opens it.", func(a *lamp) *string { return a.Code })
	code.Sensitive = func(lamp) bool { return true }
	code.Diff = func(_, want lamp) string { return *want.Code }
	watts := resource.Field("watts", "Its power.", func(a *lamp) *int { return a.Watts })
	watts.InvalidatesRefresh = func(want lamp) bool { return *want.Watts == 0 }
	return &resource.Type[lamp]{
		Name:        "Lamp",
		Doc:         "A lamp.\n",
		Example:     "kind: Lamp\n",
		NamevarName: "name",
		Namevar:     func(a *lamp) *string { return &a.Name },
		Features:    []resource.FeatureDoc{{Name: colourful, Doc: "Has colours."}, {Name: dimmable, Doc: "Can dim."}, {Name: ultra, Doc: "Can do violet."}},
		Exists:      func(is lamp) bool { return is.Ensure != nil && *is.Ensure != resource.Absent },
		Keys:        func(a lamp) []string { return a.Rooms },
		Properties: []resource.Property[lamp]{
			resource.Field(resource.Ensure, "Whether it is there.", func(a *lamp) *string { return a.Ensure }),
			colour,
			watts,
			resource.Set("rooms", "Where it shines.", func(a lamp) []string { return a.Rooms }, func(want lamp) bool { return !want.AllOf }),
			code,
		},
		Parameters: []resource.Parameter{{Name: "allOf", Doc: "Rooms are all."}, {Name: "dimming", Doc: "Dims.", Feature: dimmable}},
		Providers:  providers,
		Normalize: func(a *lamp) {
			if a.Colour != nil {
				a.Colour = new(strings.ToLower(*a.Colour))
			}
		},
		Default: func(a *lamp) {
			if a.Ensure == nil {
				a.Ensure = new(resource.Present)
			}
		},
		Validate: func(a lamp) error {
			if a.Watts != nil && *a.Watts < 0 {
				return errors.New("watts is negative: give the power that it takes")
			}
			return nil
		},
		Auto: []resource.AutoRelation[lamp]{
			{Relation: resource.Require, Kind: "Room", Names: func(want lamp) []string { return want.Rooms }, Nearest: true},
			{Relation: resource.Notify, Kind: "Meter", Names: func(lamp) []string { return nil }},
		},
	}
}

// plain is a provider without optional abilities. It reads the state that it was given.
type plain struct {
	name string
	is   lamp
	err  error // of everything
}

func (p plain) Name() string                                              { return p.name }
func (p plain) Suits(resource.Facts, host.Reader) error                   { return p.err }
func (p plain) Read(context.Context, resource.Reader, lamp) (lamp, error) { return p.is, p.err }
func (p plain) Write(context.Context, resource.Writer, lamp, lamp, []resource.Change) error {
	return p.err
}

// able is a provider with all abilities. It records its writes.
type able struct {
	plain
	features []resource.Feature
	on       string // the os that it is a default for
	shines   map[string]lamp
	extra    []resource.Result[lamp] // further answers, to break a promise
	short    int                     // answers that are missing, to break it too
	written  []resource.Write[lamp]
}

func (p *able) Write(_ context.Context, _ resource.Writer, is, want lamp, changes []resource.Change) error {
	p.written = append(p.written, resource.Write[lamp]{Is: is, Want: want, Changes: changes})
	return p.err
}

func (p *able) Features() []resource.Feature { return p.features }

func (p *able) Watch(_ host.Reader, want lamp) []string { return []string{"/lamps/" + want.Name} }

func (p *able) Defaults() resource.Defaults {
	return resource.Defaults{For: []resource.Where{{"os.name": {p.on}}}}
}

// picky is a provider with needs and defaults.
type picky struct {
	plain
	needs    resource.Needs
	defaults resource.Defaults
}

func (p picky) Needs() resource.Needs       { return p.needs }
func (p picky) Defaults() resource.Defaults { return p.defaults }

func (p *able) List(context.Context, resource.Reader) ([]lamp, error) {
	var all []lamp
	for _, l := range p.shines {
		all = append(all, l)
	}
	return all, p.err
}

func (p *able) ReadAll(_ context.Context, _ resource.Reader, wants []lamp) []resource.Result[lamp] {
	results := slices.Clone(p.extra)
	for _, want := range wants {
		is, ok := p.shines[want.Name]
		if !ok {
			is = lamp{Name: want.Name, Ensure: new(resource.Absent)}
		}
		result := resource.Result[lamp]{State: is, Err: p.err}
		if want.Name == "broken" {
			result.Err = errors.New("it is broken")
		}
		results = append(results, result)
	}
	return results[min(p.short, len(results)):]
}

func (p *able) WriteAll(_ context.Context, _ resource.Writer, writes []resource.Write[lamp]) []error {
	errs := make([]error, len(writes), len(writes)+1)
	for i, w := range writes {
		if w.Want.Name == "broken" {
			errs[i] = errors.New("it is broken")
			continue
		}
		p.shines[w.Want.Name] = w.Want
		p.written = append(p.written, w)
	}
	return errs[min(p.short, len(errs)):]
}

// Precheck returns an error for each broken lamp.
func (p *able) Precheck(_ context.Context, _ resource.Reader, writes []resource.Write[lamp]) []error {
	errs := make([]error, len(writes))
	for i, w := range writes {
		w.AddNote("would shine")
		if w.Want.Name == "broken" {
			errs[i] = errors.New("it would break")
		}
	}
	return errs[min(p.short, len(errs)):]
}

func (p *able) Refresh(_ context.Context, _ resource.Writer, is, _ lamp) error {
	if is.Ensure == nil {
		return resource.ErrNothingToRefresh
	}
	return p.err
}

// bind makes the resource Lamp/desk.
func bind(t *testing.T, typ *resource.Type[lamp], attributes string) resource.Resource {
	t.Helper()
	r, err := bound.Kind(typ).Bind(resource.Ref{Kind: "Lamp", Name: "desk"}, json.RawMessage(attributes))
	must(t, err)
	return r
}

// chosen is bind with the default provider.
func chosen(t *testing.T, typ *resource.Type[lamp], attributes string) resource.Resource {
	t.Helper()
	r := bind(t, typ, attributes)
	must(t, r.Choose(nil, nil, ""))
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
