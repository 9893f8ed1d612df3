package bound_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
)

func TestStateIsComparedWithDesiredState(t *testing.T) {
	there := lamp{Name: "desk", Ensure: new("present"), Colour: new("RED"), Watts: new(40), Rooms: []string{"study", "attic"}, Code: new("s3cret")}
	tests := map[string]struct {
		is   lamp
		want string
		got  resource.Comparison
	}{
		"in sync, whatever the case": {there, `{"colour": "Red", "watts": 40, "rooms": ["attic"], "code": "s3cret"}`, resource.Comparison{
			Exists:   true,
			Observed: map[string]string{"ensure": "present", "colour": "red", "watts": "40", "rooms": "attic,study"},
		}},
		"ensure out of sync silences the others": {lamp{Ensure: new("absent")}, `{"watts": 40}`, resource.Comparison{
			Changes:  []resource.Change{{Property: "ensure", Is: "absent", Should: "present", Message: "created"}},
			Observed: map[string]string{"ensure": "absent"},
		}},
		"neither there nor to be": {lamp{Ensure: new("absent")}, `{"ensure": "absent", "watts": 40}`, resource.Comparison{
			Observed: map[string]string{"ensure": "absent", "watts": ""},
		}},
		"there and not to be": {there, `{"ensure": "absent"}`, resource.Comparison{
			Exists:   true,
			Changes:  []resource.Change{{Property: "ensure", Is: "present", Should: "absent", Message: "removed"}},
			Observed: map[string]string{"ensure": "present"},
		}},
		"every property in the type's order": {there, `{"code": "n3w", "rooms": ["hall"], "watts": 0, "colour": "blue"}`, resource.Comparison{
			Exists: true,
			Changes: []resource.Change{
				{Property: "colour", Is: "red", Should: "blue", Message: "colour changed red to blue", Diff: "-red\n+blue"},
				{Property: "watts", Is: "40", Should: "0", Message: "watts changed 40 to 0", InvalidatesRefresh: true},
				{Property: "rooms", Is: "attic,study", Should: "attic,hall,study", Message: "rooms changed attic,study to attic,hall,study"},
				{Property: "code", Is: "[redacted]", Should: "[redacted]", Message: "changed code", Sensitive: true},
			},
			Observed: map[string]string{"ensure": "present", "colour": "red", "watts": "40", "rooms": "attic,study"},
		}},
		"all rooms and no other": {there, `{"rooms": ["attic", "hall", "attic"], "allOf": true}`, resource.Comparison{
			Exists:   true,
			Changes:  []resource.Change{{Property: "rooms", Is: "attic,study", Should: "attic,hall", Message: "rooms changed attic,study to attic,hall"}},
			Observed: map[string]string{"ensure": "present", "rooms": "attic,study"},
		}},
		"all rooms in another order": {there, `{"rooms": ["attic", "study"], "allOf": true}`, resource.Comparison{
			Exists:   true,
			Observed: map[string]string{"ensure": "present", "rooms": "attic,study"},
		}},
		"no room": {there, `{"rooms": [], "allOf": true}`, resource.Comparison{
			Exists:   true,
			Changes:  []resource.Change{{Property: "rooms", Is: "attic,study", Message: "rooms undefined from attic,study"}},
			Observed: map[string]string{"ensure": "present", "rooms": "attic,study"},
		}},
		"what has no value gets one": {lamp{Ensure: new("present")}, `{"watts": 7}`, resource.Comparison{
			Exists:   true,
			Changes:  []resource.Change{{Property: "watts", Should: "7", Message: "watts defined as 7"}},
			Observed: map[string]string{"ensure": "present", "watts": ""},
		}},
		"ensure from one kind of presence to another": {lamp{Ensure: new("dim")}, `{"ensure": "bright"}`, resource.Comparison{
			Exists:   true,
			Changes:  []resource.Change{{Property: "ensure", Is: "dim", Should: "bright", Message: "ensure changed dim to bright"}},
			Observed: map[string]string{"ensure": "dim"},
		}},
		"purged": {lamp{Ensure: new("absent")}, `{"ensure": "purged"}`, resource.Comparison{
			Changes:  []resource.Change{{Property: "ensure", Is: "absent", Should: "purged", Message: "purged"}},
			Observed: map[string]string{"ensure": "absent"},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := chosen(t, lamps(plain{name: "switch", is: test.is}), test.want)
			must(t, r.Read(t.Context(), resource.Call{}.Reader(nil)))
			got := r.Compare()
			if diff := cmp.Diff(test.got, got); diff != "" {
				t.Errorf("comparison (-want +got):\n%s", diff)
			}
			if shown := fmt.Sprintf("%+v", got); strings.Contains(shown, "s3cret") || strings.Contains(shown, "n3w") {
				t.Errorf("a secret is shown: %s", shown)
			}
		})
	}
}

// A digest without a key would confirm a guessed secret.
func TestSecretIsAuditedByKeyedDigest(t *testing.T) {
	digest := func(code, key string) string {
		t.Helper()
		r := chosen(t, lamps(plain{name: "switch", is: lamp{Ensure: new("present"), Code: &code}}), `{}`)
		must(t, r.Audit([]string{"code"}))
		must(t, r.Read(t.Context(), resource.Call{}.Reader(nil)))
		all := r.Audited([]byte(key))
		if len(all) != 1 || !all[0].Sensitive {
			t.Fatalf("audited are %v", all)
		}
		return all[0].Value
	}
	first := digest("s3cret", "key")
	if digest("s3cret", "key") != first || digest("n3w", "key") == first || digest("s3cret", "another") == first || strings.Contains(first, "s3cret") {
		t.Errorf("%s is the digest of another secret, or by another key", first)
	}
}

func TestUnsupportedAttributesAreErrors(t *testing.T) {
	const remedy = "; leave the attribute out or choose another provider"
	tests := map[string]struct {
		features   []resource.Feature
		attributes string
		want       string // "" for none
	}{
		"nothing needed":           {nil, `{"watts": 7}`, ""},
		"all is there":             {[]resource.Feature{colourful, dimmable}, `{"colour": "red", "dimming": true}`, ""},
		"a property is not":        {nil, `{"colour": "red"}`, "provider all lacks the feature colourful, which colour needs" + remedy},
		"a value is not":           {[]resource.Feature{colourful}, `{"colour": "violet"}`, `provider all lacks the feature ultraviolet, which colour "violet" needs` + remedy},
		"a parameter is not":       {nil, `{"dimming": false}`, "provider all lacks the feature dimmable, which dimming needs" + remedy},
		"each of several is named": {nil, `{"colour": "red", "dimming": true}`, "provider all lacks the feature colourful, which colour needs" + remedy + "\nprovider all lacks the feature dimmable, which dimming needs" + remedy},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := chosen(t, lamps(&able{plain: plain{name: "all"}, features: test.features}), test.attributes)
			if test.want == "" {
				must(t, r.Unsupported())
				return
			}
			wantError(t, r.Unsupported(), test.want)
		})
	}
}

func TestAbilitiesFollowTheProvider(t *testing.T) {
	type abilities struct{ BatchRead, BatchWrite, Refresh bool }
	of := func(r resource.Resource) abilities {
		return abilities{r.Abilities().BatchRead, r.Abilities().BatchWrite, r.Abilities().Refresh}
	}
	got := []abilities{of(chosen(t, lamps(plain{name: "switch"}), "{}")), of(chosen(t, lamps(&able{}), "{}"))}
	if diff := cmp.Diff([]abilities{{}, {true, true, true}}, got); diff != "" {
		t.Errorf("abilities (-want +got):\n%s", diff)
	}
}

func TestWatchedPathsComeFromTheProvider(t *testing.T) {
	unable := chosen(t, lamps(plain{name: "plain"}), `{"name":"desk"}`)
	r := bind(t, lamps(&able{plain: plain{name: "able"}}), `{"name":"desk"}`)
	before := r.Watched(nil)
	must(t, r.Choose(nil, nil, ""))
	if diff := cmp.Diff([][]string{nil, nil, {"/lamps/desk"}}, [][]string{unable.Watched(nil), before, r.Watched(nil)}); diff != "" {
		t.Error(diff)
	}
}

func TestResourceIsFoundByItsKeys(t *testing.T) {
	r := bind(t, lamps(), `{"name": "l1", "rooms": ["hall", "attic"]}`)
	if diff := cmp.Diff([]string{"l1", "hall", "attic"}, r.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	want := []resource.Relation{{Relation: resource.Require, Kind: "Room", Names: []string{"hall", "attic"}, Nearest: true}}
	if diff := cmp.Diff(want, r.Relations()); diff != "" {
		t.Errorf("relations (-want +got):\n%s", diff)
	}
}

func TestParametersAreNeitherComparedNorRemembered(t *testing.T) {
	is := lamp{Name: "desk", Ensure: new("present"), Dimming: new(false)}
	r := chosen(t, lamps(&able{plain: plain{is: is}, features: []resource.Feature{dimmable}}), `{"name": "desk", "dimming": true, "allOf": true}`)
	must(t, r.Read(t.Context(), resource.Call{}.Reader(nil)))
	want := resource.Comparison{Exists: true, Observed: map[string]string{"ensure": "present"}}
	if diff := cmp.Diff(want, r.Compare()); diff != "" {
		t.Errorf("comparison (-want +got):\n%s", diff)
	}
}

func TestBatchRead(t *testing.T) {
	typ := lamps(&able{shines: map[string]lamp{"hall": {Name: "hall", Ensure: new("present")}}})
	all := []resource.Resource{chosen(t, typ, `{"name": "desk"}`), chosen(t, typ, `{"name": "broken"}`), chosen(t, typ, `{"name": "hall"}`)}
	errs := all[0].Provider().ReadAll(t.Context(), resource.Call{}.Reader(nil), all)
	if len(errs) != 3 || errs[0] != nil || errs[2] != nil {
		t.Fatalf("errors are %v", errs)
	}
	wantError(t, errs[1], "it is broken")
	if all[0].State().Exists || !all[2].State().Exists {
		t.Errorf("states are %+v and %+v", all[0].State(), all[2].State())
	}
	if errs := all[0].Provider().ReadAll(t.Context(), resource.Call{}.Reader(nil), nil); errs != nil {
		t.Errorf("nothing read gives %v", errs)
	}
}

func TestFailedBatchReadFailsEachResource(t *testing.T) {
	p := &able{plain: plain{err: errors.New("no power")}}
	typ := lamps(p)
	r := bind(t, typ, "{}")
	p.err = nil
	must(t, r.Choose(nil, nil, ""))
	p.err = errors.New("no power")
	for _, err := range append(r.Provider().ReadAll(t.Context(), resource.Call{}.Reader(nil), []resource.Resource{r, r}), r.Read(t.Context(), resource.Call{}.Reader(nil))) {
		wantError(t, err, "no power")
	}
}

func TestMiscountedBatchFailsEntirely(t *testing.T) {
	for _, p := range []*able{{extra: make([]resource.Result[lamp], 1)}, {short: 1}, {short: 2}} {
		p.name, p.shines = "all", map[string]lamp{}
		typ := lamps(p)
		all := []resource.Resource{chosen(t, typ, `{"name": "a"}`), chosen(t, typ, `{"name": "b"}`)}
		items := []resource.BatchItem{{Resource: all[0]}, {Resource: all[1]}}
		batches := map[string][]error{"read": all[0].Provider().ReadAll(t.Context(), resource.Call{}.Reader(nil), all)}
		if p.short > 0 {
			batches["write"] = all[0].Provider().WriteAll(t.Context(), nil, items)
			batches["precheck"] = all[0].Provider().Precheck(t.Context(), nil, items)
		}
		for what, errs := range batches {
			if len(errs) != 2 {
				t.Fatalf("%s: errors are %v", what, errs)
			}
			for _, err := range errs {
				wantError(t, err, fmt.Sprintf("provider all returned %d results for 2 resources (a bug in the provider)", 2+len(p.extra)-p.short))
			}
		}
	}
}

func TestPanicFailsTheEntireBatch(t *testing.T) {
	typ := lamps(&able{}) // writes into a nil map
	r := chosen(t, typ, `{"name": "a"}`)
	for _, err := range r.Provider().WriteAll(t.Context(), nil, []resource.BatchItem{{Resource: r}, {Resource: r}}) {
		wantError(t, err, "the provider panicked (a bug in the provider): assignment to entry in nil map")
	}
}

func TestWritesArePrechecked(t *testing.T) {
	typ := lamps(&able{})
	var told string
	items := []resource.BatchItem{
		{Resource: chosen(t, typ, `{"name": "broken"}`)},
		{Resource: chosen(t, typ, `{"name": "hall"}`), Note: func(text string) { told += text }},
	}
	errs := items[0].Resource.Provider().Precheck(t.Context(), nil, items)
	if len(errs) != 2 || errs[1] != nil || told != "would shine" {
		t.Fatalf("errors are %v, told %q", errs, told)
	}
	wantError(t, errs[0], "it would break")
	if !items[0].Resource.Abilities().Precheck || chosen(t, lamps(plain{}), "{}").Abilities().Precheck {
		t.Error("a provider can precheck writes if it says so, and no other")
	}
}

func TestWriteReceivesCurrentAndDesiredState(t *testing.T) {
	p := &able{plain: plain{is: lamp{Name: "desk", Ensure: new("present"), Watts: new(40)}}}
	r := chosen(t, lamps(p), `{"watts": 7}`)
	must(t, r.Read(t.Context(), resource.Call{}.Reader(nil)))
	must(t, r.Write(t.Context(), nil, r.Compare().Changes))
	want := []resource.Write[lamp]{{
		Is:      lamp{Name: "desk", Ensure: new("present"), Watts: new(40)},
		Want:    lamp{Name: "desk", Ensure: new("present"), Watts: new(7)},
		Changes: []resource.Change{{Property: "watts", Is: "40", Should: "7", Message: "watts changed 40 to 7"}},
	}}
	if diff := cmp.Diff(want, p.written); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

func TestBatchWrite(t *testing.T) {
	p := &able{plain: plain{is: lamp{Name: "hall", Ensure: new("absent")}}, shines: map[string]lamp{}}
	typ := lamps(p)
	hall := chosen(t, typ, `{"name": "hall"}`)
	must(t, hall.Read(t.Context(), resource.Call{}.Reader(nil)))
	changes := hall.Compare().Changes
	errs := hall.Provider().WriteAll(t.Context(), nil, []resource.BatchItem{
		{Resource: chosen(t, typ, `{"name": "broken"}`)},
		{Resource: hall, Changes: changes},
	})
	if len(errs) != 2 || errs[1] != nil {
		t.Fatalf("errors are %v", errs)
	}
	wantError(t, errs[0], "it is broken")
	if diff := cmp.Diff(map[string]lamp{"hall": {Name: "hall", Ensure: new("present")}}, p.shines); diff != "" {
		t.Errorf("lamps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]resource.Write[lamp]{{Is: p.is, Want: p.shines["hall"], Changes: changes}}, p.written); diff != "" || len(changes) != 1 {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	if errs := hall.Provider().WriteAll(t.Context(), nil, nil); errs != nil {
		t.Errorf("nothing written gives %v", errs)
	}
}

func TestRefreshRequiresAnExistingResource(t *testing.T) {
	if err := chosen(t, lamps(plain{}), "{}").Refresh(t.Context(), nil); !errors.Is(err, resource.ErrNothingToRefresh) {
		t.Errorf("a provider that can't refresh: %v", err)
	}
	p := &able{}
	r := chosen(t, lamps(p), "{}")
	if err := r.Refresh(t.Context(), nil); !errors.Is(err, resource.ErrNothingToRefresh) {
		t.Errorf("a lamp that was not read: %v", err)
	}
	p.is = lamp{Ensure: new("present")}
	must(t, r.Read(t.Context(), resource.Call{}.Reader(nil)))
	must(t, r.Refresh(t.Context(), nil))
}

func TestPropertyErrorNamesTheProperty(t *testing.T) {
	cause := errors.New("no power")
	err := &resource.PropertyError{Property: "watts", Err: cause}
	wantError(t, err, "cannot set watts: no power")
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
}
