package external_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/external"
)

// narrow is the type entry with values that its schemas exclude.
var narrow = strings.NewReplacer(
	"description: Seconds., schema: {type: integer", "description: Seconds., schema: {type: integer, minimum: 10, maximum: 100",
	"description: Words., schema: {type: string", `description: Words., schema: {type: string, pattern: "^[A-Za-z ]*$"`,
	"sensitive: true, schema: {type: string", "sensitive: true, schema: {type: string, minLength: 4",
	"description: Its zone., behaviour: Namevar, schema: {type: string", `description: Its zone., behaviour: Namevar, schema: {type: string, pattern: "^[a-z]+$"`,
).Replace(entry)

func TestPlansAndAppliesRefuseTheSameAnswers(t *testing.T) {
	t.Parallel()

	one := json.Number("1")
	for name, c := range map[string]struct{ get, canonical, want string }{
		"another Namevar":           {get: `{"zone":"y","id":1}`, want: `the program was asked for the zone "z", and answered with "y"`},
		"no Namevar":                {get: `{"zone":"z"}`, want: "without the Namevar id"},
		"a Namevar of another type": {get: `{"zone":"z","id":"1"}`, want: "the type string for id: it must be integer"},
		"no name in canonical form": {canonical: `{"zone":null}`, want: "without the Namevar zone"},
		"another ensure":            {canonical: `{"zone":"z","id":1,"ensure":"absent"}`, want: `made ensure "absent" of "present"`},
		"an unknown attribute":      {canonical: `{"zone":"z","id":1,"colour":"red"}`, want: `the attribute "colour"`},
		"another type":              {canonical: `{"zone":"z","id":1,"ttl":"60"}`, want: "the type string for ttl"},
		"a value out of range":      {canonical: `{"zone":"z","id":1,"ttl":6000}`, want: "ttl violates maximum"},
		"a value of another form":   {canonical: `{"zone":"z","id":1,"comment":"no!"}`, want: "comment violates pattern"},
		"too many digits":           {canonical: `{"zone":"z","id":1,"weight":1e999999999}`, want: "weight has a number of too many digits"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newFixtureOf(t, narrow)
			w.registry.has["z:1"] = wire.State{"zone": "z", "id": one, "ttl": json.Number("60")}
			w.registry.answers = map[string]string{wire.Get: c.get, wire.Canonicalize: c.canonical}
			want := "Entry/a: cannot read the present state: "
			planned, applied := w.noop(t, `Entry/a {zone: z, id: 1, ttl: 61}`), w.Apply(t, `Entry/a {zone: z, id: 1, ttl: 61}`)
			equal(t, planned, applied)
			if len(applied) != 1 || !strings.HasPrefix(applied[0], want) || !strings.Contains(applied[0], c.want) {
				t.Errorf("the report is %q, want %s", applied, c.want)
			}
		})
	}
}

func TestAPresentStateThatTheTypeExcludesIsCorrected(t *testing.T) {
	t.Parallel()

	w := newFixtureOf(t, narrow)
	w.registry.has["z:1"] = wire.State{"zone": "z", "id": json.Number("1"), "ttl": json.Number("5"), "comment": "!"}
	equal(t, []string{"Entry/a: output: stored z:1", "Entry/a: ttl changed 5 to 60"}, w.Apply(t, `Entry/a {zone: z, id: 1, ttl: 60}`))
}

func TestPlansAndAppliesRefuseTheSameChanges(t *testing.T) {
	t.Parallel()

	const initOnly = "shape can only be set when the Entry is created: remove it from the host first, or correct shape"
	for name, c := range map[string]struct{ resource, plan, apply string }{
		"InitOnly":            {`Entry/a {zone: z, id: 1, shape: square}`, "cannot be applied: " + initOnly, "change of shape from round to square failed: " + initOnly},
		"Validate of changes": {`Entry/a {zone: z, id: 1, comment: refused}`, "cannot be applied: the service refuses this comment", "change of comment from absent to refused failed: the service refuses this comment"},
		"Validate of removal": {`Entry/a {zone: z, id: 1, ensure: absent}`, "cannot be applied: in use", "change of ensure from present to absent failed: in use"},
		"another name":        {`Entry/b {zone: z, id: 2, comment: refused}`, "cannot be applied: the service refuses this comment", "change of ensure from absent to present failed: the service refuses this comment"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newFixtureOf(t, narrow)
			w.registry.has["z:1"] = wire.State{"zone": "z", "id": json.Number("1"), "shape": "round"}
			ref, _, _ := strings.Cut(c.resource, " ")
			equal(t, []string{ref + ": " + c.plan}, w.noop(t, c.resource))
			equal(t, []string{ref + ": " + c.apply}, w.Apply(t, c.resource))
			if len(w.registry.has) != 1 {
				t.Errorf("it was changed: %v", w.registry.has)
			}
		})
	}
}

// The program's Validate sees a host without the changes of the run.
func TestAPlanDoesNotPredictFailuresThatEarlierChangesPrevent(t *testing.T) {
	t.Parallel()

	w := newFixtureOf(t, narrow)
	w.registry.validate = func(r wire.Resource) wire.Answer {
		if r.Name == "z:2" && w.registry.has["z:1"] == nil {
			return wire.Answer{Error: "there is no z:1"}
		}
		return wire.Answer{}
	}
	second := `Entry/b {zone: z, id: 2, require: [Entry/a]}`
	equal(t, []string{"Entry/b: cannot be applied: there is no z:1"}, w.noop(t, `Entry/b {zone: z, id: 2}`))
	equal(t, []string{"Entry/a: created (noop) (unknown: runs the program of the type)", "Entry/b: created (noop) (unknown: comes after Entry/a)"}, w.noop(t, `Entry/a {zone: z, id: 1}`, second))
	equal(t, []string{"Entry/a: output: stored z:1", "Entry/a: created", "Entry/b: output: stored z:2", "Entry/b: created"}, w.Apply(t, `Entry/a {zone: z, id: 1}`, second))
}

func TestDesiredValuesConformToTheirSchemas(t *testing.T) {
	t.Parallel()

	kind := external.Kind(define(t, narrow), nil)
	ref := resource.Ref{Kind: "Entry", Name: "a"}
	for attributes, want := range map[string]string{
		`{"zone":"z","id":1,"ttl":60}`:       "",
		`{"zone":"Z","id":1}`:                "zone violates pattern of the schema",
		`{"zone":"z","id":1,"ttl":5}`:        "ttl violates minimum of the schema",
		`{"zone":"z","id":1,"comment":"n0"}`: "comment violates pattern of the schema",
	} {
		_, err := kind.Bind(ref, json.RawMessage(attributes))
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", attributes, err, want)
		}
	}
	values := v1alpha1.ExternalValues{Values: map[string]any{"zone": "z", "id": json.Number("1")}}
	_, err := kind.BindTyped(ref, values, resource.Secret{Attribute: "token", Value: "abc"})
	if err == nil || err.Error() != "token violates minLength of the schema" {
		t.Errorf("a value of a Secret: %v", err)
	}
}

func TestAPurgeFailsIfTheListHasRowsWithoutNames(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ row, want string }{
		"no Namevar":           {`{"zone":"z"}`, "list: the program answered without the Namevar id"},
		"an unknown attribute": {`{"zone":"z","id":1,"colour":"red"}`, `list: the program answered with the attribute "colour"`},
		"twice":                {`{"zone":"z","id":2}`, `list: the program listed "z:2" twice`},
		"another type":         {`{"zone":"z","id":"2"}`, "list: the program answered with the type string for id"},
		"an unknown ensure":    {`{"zone":"z","id":1,"ensure":"on"}`, `list: the program answered with the value "on" of ensure`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newFixtureOf(t, narrow)
			w.registry.has = map[string]wire.State{"a": rawAnswer(c.row).State, "z:2": {"zone": "z", "id": json.Number("2")}}
			_, err := w.kind.Instances(t.Context(), nil, resource.Call{}.Reader(w.host), "")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestRowsThatCannotBeDeclaredAreNotListed(t *testing.T) {
	t.Parallel()

	w := newFixtureOf(t, narrow)
	w.registry.has = map[string]wire.State{
		"a": {"zone": "Z", "id": json.Number("1")}, "b": {"zone": "z", "id": json.Number("1"), "ttl": json.Number("1")}, "c": {"zone": "z", "id": json.Number("3"), "ensure": "absent"},
	}
	all, err := w.kind.Instances(t.Context(), nil, resource.Call{}.Reader(w.host), "")
	if err != nil || len(all) != 1 || all[0].Namevar != "z:1" {
		t.Errorf("got %+v, %v", all, err)
	}
}
