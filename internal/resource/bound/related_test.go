package bound_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

func TestDesiredStateHasOnlyWhatOthersMaySee(t *testing.T) {
	t.Parallel()

	typ := lamps(plain{name: "plain"})
	typ.Properties[2].Private = func(want lamp) bool { return *want.Watts > 100 }
	typ.Parameters[1].Public = true
	typ.Secrets = map[string]func(*lamp, string){
		"colour":  func(a *lamp, value string) { a.Colour = &value },
		"dimming": func(a *lamp, _ string) { a.Dimming = new(true) },
	}
	for name, tt := range map[string]struct {
		attributes string
		secrets    []resource.Secret
		should     map[string]json.RawMessage
		omitted    []string
	}{
		"the defaults": {`{}`, nil, attributes(`ensure`, `"present"`), nil},
		"normalized properties and public parameters":     {`{"colour":"RED","allOf":true,"dimming":true}`, nil, attributes(`ensure`, `"present"`, `colour`, `"red"`, `dimming`, `true`), nil},
		"no sensitive value":                              {`{"ensure":"absent","code":"1234"}`, nil, attributes(`ensure`, `"absent"`), []string{"code"}},
		"no private value":                                {`{"watts":101}`, nil, attributes(`ensure`, `"present"`), []string{"watts"}},
		"a value that is not private":                     {`{"watts":100}`, nil, attributes(`ensure`, `"present"`, `watts`, `100`), nil},
		"no large value":                                  {`{"colour":"` + strings.Repeat("x", 4095) + `"}`, nil, attributes(`ensure`, `"present"`), []string{"colour"}},
		"no value from a Secret, also not of a parameter": {`{}`, []resource.Secret{{Attribute: "dimming", Value: "x"}, {Attribute: "colour", Value: "red"}}, attributes(`ensure`, `"present"`), []string{"colour", "dimming"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r, err := bound.Kind(typ).Bind(resource.Ref{Kind: "Lamp", Name: "desk"}, json.RawMessage(tt.attributes), tt.secrets...)
			must(t, err)
			want := resource.Related{Kind: "Lamp", Name: "desk", Should: tt.should, Omitted: tt.omitted}
			if diff := cmp.Diff(want, r.Desired()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// attributes returns pairs of names and values.
func attributes(pairs ...string) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return all
}
