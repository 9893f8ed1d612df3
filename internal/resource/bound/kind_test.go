package bound_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

func TestBind(t *testing.T) {
	tests := map[string]struct{ attributes, namevar, err string }{
		"nothing said takes the resource's name":   {attributes: "", namevar: "desk"},
		"a name of its own":                        {attributes: `{"name": "ceiling"}`, namevar: "ceiling"},
		"an unknown attribute is told what is one": {attributes: `{"color": "red"}`, err: `cannot read attributes of Lamp/desk: json: unknown field "color"; Lamp has: name, ensure, colour, watts, rooms, code, allOf, dimming`},
		"a value of the wrong type":                {attributes: `{"watts": "many"}`, err: "cannot read attributes of Lamp/desk: json: cannot unmarshal string into Go struct field lamp.watts of type int"},
		"the type rejects the attributes":          {attributes: `{"watts": -1}`, err: "watts is negative: give the power that it takes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := bound.Kind(lamps()).Bind(resource.Ref{Kind: "Lamp", Name: "desk"}, json.RawMessage(test.attributes))
			if test.err != "" {
				wantError(t, err, test.err)
				return
			}
			must(t, err)
			if r.Namevar() != test.namevar || r.Ref().String() != "Lamp/desk" {
				t.Errorf("got %s with the namevar %q, want %q", r.Ref(), r.Namevar(), test.namevar)
			}
		})
	}
}

func TestNamedResourceManagesNoProperty(t *testing.T) {
	r, err := bound.Kind(lamps(plain{name: "switch", is: lamp{Name: "desk", Ensure: new("present"), Colour: new("RED")}})).Named("desk")
	must(t, err)
	must(t, r.Choose(nil, nil, ""))
	must(t, r.Unsupported())
	must(t, r.Read(t.Context(), resource.Call{}.Reader(nil)))

	if diff := cmp.Diff(resource.Comparison{Exists: true, Observed: map[string]string{}}, r.Compare()); diff != "" {
		t.Errorf("comparison (-want +got):\n%s", diff)
	}
	want := resource.Instance{Namevar: "desk", CanonicalName: "desk", Provider: "switch", Exists: true, Attributes: json.RawMessage(`{"name":"desk","ensure":"present","colour":"red"}`)}
	if diff := cmp.Diff(want, r.State()); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func TestProviderIsChosenByFacts(t *testing.T) {
	unsuited := plain{name: "candle", err: errors.New("no fire on this host")}
	first, debian := plain{name: "first"}, &able{plain: plain{name: "debian"}, on: "Debian"}
	facts := resource.Facts{"os": map[string]any{"name": "debian"}}
	tests := map[string]struct {
		providers []resource.Provider[lamp]
		facts     resource.Facts
		named     string
		want, err string
	}{
		"the first that suits":               {providers: []resource.Provider[lamp]{unsuited, first, debian}, want: "first"},
		"the host's default before the rest": {providers: []resource.Provider[lamp]{first, debian}, facts: facts, want: "debian"},
		"the one that is named":              {providers: []resource.Provider[lamp]{first, debian}, facts: facts, named: "first", want: "first"},
		"none suits":                         {providers: []resource.Provider[lamp]{unsuited}, err: "cannot find a suitable provider for Lamp: candle: no fire on this host"},
		"the one that is named does not":     {providers: []resource.Provider[lamp]{unsuited, first}, named: "candle", err: "cannot find a suitable provider for Lamp: candle: no fire on this host"},
		"the one that is named is none":      {providers: []resource.Provider[lamp]{first, debian}, named: "torch", err: `provider "torch" is not one of kind Lamp, which has [first debian]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := bind(t, lamps(test.providers...), "{}")
			err := r.Choose(test.facts, nil, test.named)
			if test.err != "" {
				wantError(t, err, test.err)
				return
			}
			must(t, err)
			if got := r.Provider().Name(); got != test.want {
				t.Errorf("chosen is %s, want %s", got, test.want)
			}
		})
	}
}

func TestNoProviderErrorIsRetriedIfTheHostMayChange(t *testing.T) {
	r := bind(t, lamps(plain{name: "candle", err: errors.New("no fire")}), "{}")
	if _, later := errors.AsType[*resource.NoProviderError](r.Choose(nil, nil, "candle")); !later {
		t.Error("a provider that may suit later is given up")
	}
	if _, later := errors.AsType[*resource.NoProviderError](r.Choose(nil, nil, "torch")); later {
		t.Error("a provider that does not exist is waited for")
	}
	if got := r.Provider().Name(); got != "" {
		t.Errorf("chosen is %s", got)
	}
}

func TestSuitabilityCoversEveryProvider(t *testing.T) {
	dark := errors.New("no fire")
	k := bound.Kind(lamps(plain{name: "candle", err: dark}, plain{name: "first"},
		&able{plain: plain{name: "debian"}, on: "Debian", features: []resource.Feature{colourful}}))
	got := k.Suitability(resource.Facts{"os": map[string]any{"name": "Debian"}}, nil)
	want := []resource.Suitability{
		{Provider: "candle", Err: dark},
		{Provider: "first"},
		{
			Provider: "debian", Features: []resource.Feature{colourful},
			Defaults: resource.Defaults{For: []resource.Where{{"os.name": {"Debian"}}}}, Specificity: 1, Chosen: true,
		},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(errors.Is)); diff != "" {
		t.Errorf("suitability (-want +got):\n%s", diff)
	}
}

func TestDescriptionHasEveryAttribute(t *testing.T) {
	typ := lamps(plain{name: "switch"})
	want := resource.Description{
		Name: "Lamp", Doc: "A lamp.\n", Example: "kind: Lamp\n", Namevar: "name",
		Attributes: []resource.AttributeDoc{
			{Name: "name", Doc: "Its name on the host (namevar)."},
			{Name: "ensure", Doc: "Whether it is there.", Property: true},
			{Name: "colour", Doc: "Its colour.", Property: true, Feature: colourful},
			{Name: "watts", Doc: "Its power.", Property: true},
			{Name: "rooms", Doc: "Where it shines.", Property: true},
			{Name: "code", Doc: "What opens it.", Property: true, Sensitive: true},
			{Name: "allOf", Doc: "Rooms are all."},
			{Name: "dimming", Doc: "Dims.", Feature: dimmable},
		},
		Features:  typ.Features,
		Providers: []string{"switch"},
	}
	if diff := cmp.Diff(want, bound.Kind(typ).Describe()); diff != "" {
		t.Errorf("description (-want +got):\n%s", diff)
	}
}

// embedding is a provider that embeds another one and only changes its name.
type embedding struct{ picky }

func (embedding) Name() string { return "beam" }

func TestUnknownProviderIsAnErrorOnAnyHost(t *testing.T) {
	k := bound.Kind(lamps(plain{name: "candle", err: errors.New("no fire")}, plain{name: "bulb"}))
	must(t, k.CheckProvider(""))
	must(t, k.CheckProvider("candle"))
	wantError(t, k.CheckProvider("torch"), `provider "torch" is not one of kind Lamp, which has [candle bulb]`)
}

func TestSuitabilityExplain(t *testing.T) {
	for want, s := range map[string]resource.Suitability{
		"Lamp: provider a does not work on this host: no fire":                       {Provider: "a", Err: errors.New("no fire")},
		"Lamp: provider a works on this host":                                        {Provider: "a"},
		"Lamp: provider a is this host's default":                                    {Provider: "a", Chosen: true},
		"Lamp: provider a is this host's default, although as many facts match b, c": {Provider: "a", Chosen: true, Tied: []string{"b", "c"}},
	} {
		if got := s.Explain("Lamp"); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestInvalidDefinitionsAreReported(t *testing.T) {
	tests := map[string]struct {
		edit func(*resource.Type[lamp])
		want string
	}{
		"no doc":                        {func(typ *resource.Type[lamp]) { typ.Doc = "" }, "type Lamp: doc or example is missing"},
		"no provider":                   {func(typ *resource.Type[lamp]) { typ.Providers = nil }, "type Lamp: has no provider"},
		"no namevar":                    {func(typ *resource.Type[lamp]) { typ.NamevarName = "" }, "type Lamp: has no namevar"},
		"a property twice":              {func(typ *resource.Type[lamp]) { typ.Properties[2].Name = "colour" }, "type Lamp: property colour is declared twice"},
		"ensure is not first":           {func(typ *resource.Type[lamp]) { p := typ.Properties; p[0], p[1] = p[1], p[0] }, "type Lamp: ensure is not the first property"},
		"a property without comparison": {func(typ *resource.Type[lamp]) { typ.Properties[1].InSync = nil }, "type Lamp: property colour is incomplete"},
		"a property needs what is not declared": {
			func(typ *resource.Type[lamp]) { typ.Properties[1].Feature = "loud" }, `type Lamp: property colour needs the undeclared feature "loud"`,
		},
		"a parameter that is a property, too": {func(typ *resource.Type[lamp]) { typ.Parameters[0].Name = "watts" }, "type Lamp: parameter watts is declared twice"},
		"a parameter needs what is not declared": {
			func(typ *resource.Type[lamp]) { typ.Parameters[0].Feature = "loud" }, `type Lamp: parameter allOf needs the undeclared feature "loud"`,
		},
		"a relation sends what nothing receives": {
			func(typ *resource.Type[lamp]) { typ.Auto[0].SendDesired = true }, "type Lamp: relation to Room has SendDesired, but the type has no Receive",
		},
		"a provider has what is not declared": {
			func(typ *resource.Type[lamp]) {
				typ.Providers = []resource.Provider[lamp]{&able{plain: plain{name: "horn"}, features: []resource.Feature{"loud"}}}
			}, `type Lamp: provider horn has the undeclared feature "loud"`,
		},
		"a provider's need that nothing meets": {
			func(typ *resource.Type[lamp]) {
				typ.Providers = []resource.Provider[lamp]{picky{plain: plain{name: "horn"}, needs: resource.Needs{Facts: resource.Where{"os.name": {}}}}}
			}, "type Lamp: provider horn: fact os.name is given no value",
		},
		"a provider that inherits the defaults of the one that it embeds": {
			func(typ *resource.Type[lamp]) {
				spot := picky{plain: plain{name: "spot"}, defaults: resource.Defaults{For: []resource.Where{{"os.name": {"Debian"}}}}}
				typ.Providers = []resource.Provider[lamp]{spot, embedding{picky: spot}}
			}, "type Lamp: provider beam is the default of the same hosts as spot: give it Defaults of its own",
		},
		"a default by a pattern that is none": {
			func(typ *resource.Type[lamp]) {
				typ.Providers = []resource.Provider[lamp]{picky{plain: plain{name: "horn"}, defaults: resource.Defaults{NotFor: []resource.Where{{"os.name": {"/(/"}}}}}}
			}, "type Lamp: provider horn: fact os.name: error parsing regexp: missing closing ): `(`",
		},
	}
	must(t, bound.Kind(lamps(plain{name: "switch"})).Problems())
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			typ := lamps(plain{name: "switch"})
			test.edit(typ)
			wantError(t, bound.Kind(typ).Problems(), test.want)
		})
	}
}
