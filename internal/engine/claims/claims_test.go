package claims_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/claims"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/claim"
	"github.com/fettle-dev/fettle/internal/resource/schedule"
)

// A ledger records which claims are set.
type ledger struct {
	claims map[resource.Ref]claim.Claim
	set    []string
}

func newLedger(all ...claim.Claim) *ledger {
	l := &ledger{claims: map[resource.Ref]claim.Claim{}}
	for _, c := range all {
		l.claims[c.Key()] = c
	}
	return l
}

func (l *ledger) Claims() map[resource.Ref]claim.Claim { return l.claims }
func (l *ledger) DropClaim(key resource.Ref)           { delete(l.claims, key) }

func (l *ledger) SetClaim(c claim.Claim) {
	l.claims[c.Key()] = c
	l.set = append(l.set, c.Namevar)
}

// A thing is the attributes of a type. Its canonical name is in lower case, and unknown if it begins with "?".
type thing struct {
	Name   string `json:"name"`
	Ensure string `json:"ensure,omitempty"`
}

func things() resource.Kind {
	return bound.Kind(&resource.Type[thing]{
		Name: "Thing", NamevarName: "name", Namevar: func(t *thing) *string { return &t.Name },
		Traits: resource.Traits{CanonicalNames: true},
		CanonicalName: func(want, _ thing) (string, bool) {
			return strings.ToLower(want.Name), !strings.HasPrefix(want.Name, "?")
		},
		Deletion: &resource.Deletion[thing]{Delete: func(want thing) thing { return thing{want.Name, resource.Absent} }},
	})
}

func ref(name string) resource.Ref { return resource.Ref{Kind: "Thing", Name: name} }

// item returns a resource that manages the object of this name.
func item(t *testing.T, name, object string) resource.Item {
	t.Helper()
	r, err := things().Bind(ref(name), json.RawMessage(fmt.Sprintf(`{"name":%q}`, object)))
	if err != nil {
		t.Fatal(err)
	}
	return resource.Item{Ref: ref(name), Resource: r}
}

func invalid(name string) resource.Item {
	return resource.Item{Ref: ref(name), Invalid: errors.New("invalid")}
}

// deleting returns the claim of a resource on an object of the same name.
func deleting(name string, with ...func(*claim.Claim)) claim.Claim {
	c := claim.Claim{
		Kind: "Thing", Namevar: name, Ref: ref(name), OwnerUID: "uid", Deletion: resource.Delete, Provider: "hand",
		Delete: json.RawMessage(fmt.Sprintf(`{"name":%q,"ensure":"absent"}`, name)),
	}
	for _, f := range with {
		f(&c)
	}
	return c
}

func after(names ...string) func(*claim.Claim) {
	return func(c *claim.Claim) {
		for _, name := range names {
			c.After = append(c.After, ref(name))
		}
	}
}

func at(s *schedule.Schedule) func(*claim.Claim) { return func(c *claim.Claim) { c.Schedule = s } }
func orphan(c *claim.Claim)                      { c.Deletion = resource.Orphan }

// kept returns an item with a deletion policy and a schedule.
func kept(i resource.Item, d resource.DeletionPolicy, s *schedule.Schedule) resource.Item {
	i.Deletion, i.Schedule = d, s
	return i
}

func TestClaimsHaveTheCurrentPoliciesAndSchedules(t *testing.T) {
	t.Parallel()
	daily, weekly := &schedule.Schedule{Period: schedule.Daily}, &schedule.Schedule{Period: schedule.Weekly}
	inNoop := func(i resource.Item, noop bool) resource.Item { i.Noop = &noop; return i }
	type terms struct {
		Deletion resource.DeletionPolicy
		Schedule *schedule.Schedule
	}
	for name, c := range map[string]struct {
		owner string
		claim claim.Claim
		item  resource.Item
		want  terms
		set   bool
	}{
		"another policy":            {"uid", deleting("a"), kept(item(t, "a", "a"), resource.Restore, nil), terms{resource.Restore, nil}, true},
		"another schedule":          {"uid", deleting("a", at(daily)), kept(item(t, "a", "a"), resource.Delete, weekly), terms{resource.Delete, weekly}, true},
		"no schedule any more":      {"uid", deleting("a", at(daily)), kept(item(t, "a", "a"), resource.Delete, nil), terms{resource.Delete, nil}, true},
		"nothing new":               {"uid", deleting("a", at(daily)), kept(item(t, "a", "a"), resource.Delete, &schedule.Schedule{Period: schedule.Daily}), terms{resource.Delete, daily}, false},
		"in noop, the object stays": {"uid", deleting("a"), inNoop(kept(item(t, "a", "a"), resource.Delete, nil), true), terms{resource.Orphan, nil}, true},
		"in no noop, it does not":   {"uid", deleting("a"), inNoop(kept(item(t, "a", "a"), resource.Delete, nil), false), terms{resource.Delete, nil}, false},
		"of the object, whatever the name of the resource": {
			"uid", deleting("a"), kept(item(t, "b", "a"), resource.Restore, nil), terms{resource.Restore, nil}, true,
		},
		"not of another object with the name of the resource": {"uid", deleting("a"), kept(item(t, "a", "b"), resource.Restore, nil), terms{resource.Delete, nil}, false},
		"of an invalid resource, the policy": {
			"uid", deleting("a", at(daily)), kept(invalid("a"), resource.Restore, weekly), terms{resource.Restore, daily}, true,
		},
		"not of another invalid one":             {"uid", deleting("a"), kept(invalid("b"), resource.Restore, nil), terms{resource.Delete, nil}, false},
		"not of items that are no whole catalog": {"", deleting("a"), kept(item(t, "a", "a"), resource.Restore, nil), terms{resource.Delete, nil}, false},
	} {
		l := newLedger(c.claim)
		claims.Catalog{OwnerUID: c.owner, Items: []resource.Item{c.item}}.UpdatePolicies(l)
		got := l.claims[c.claim.Key()]
		if diff := cmp.Diff(c.want, terms{got.Deletion, got.Schedule}); diff != "" || (len(l.set) > 0) != c.set {
			t.Errorf("%s: set %v (-want +got):\n%s", name, l.set, diff)
		}
	}
}

// described describes deletions as the resource, the object, and why it waits or fails.
func described(items []resource.Item) []string {
	var all []string
	for _, i := range items {
		line := fmt.Sprintf("%s deletes %s", i.Ref.Name, i.Deletes.Name)
		for _, b := range i.Before {
			line += " before " + b.Name
		}
		if i.Schedule != nil {
			line += " " + string(i.Schedule.Period)
		}
		if i.Postponed != nil {
			line += ", waits: " + i.Postponed.Error()
		}
		if i.Invalid != nil {
			line += ", fails: " + i.Invalid.Error()
		}
		if (i.Resource == nil) != (i.Invalid != nil) {
			line += ", is bound but fails, or the reverse"
		}
		all = append(all, line)
	}
	return all
}

func TestDeletions(t *testing.T) {
	t.Parallel()
	const (
		mayManage = "its resource is gone, but Thing/other may manage the same thing, which is unknown "
		withheld  = mayManage + "while that is withheld or invalid: correct it first"
		unnamed   = mayManage + "until its provider tells its canonical name"
	)
	daily := &schedule.Schedule{Period: schedule.Daily}
	of := func(kind string) func(*claim.Claim) { return func(c *claim.Claim) { c.Kind, c.Ref.Kind = kind, kind } }
	restoring := func(value string) func(*claim.Claim) {
		return func(c *claim.Claim) {
			if c.Deletion = resource.Restore; value != "" {
				c.Restore = map[string]json.RawMessage{"ensure": json.RawMessage(value)}
			}
		}
	}
	for name, c := range map[string]struct {
		catalog claims.Catalog
		claims  []claim.Claim
		want    []string
		dropped string
	}{
		"of what no item manages": {
			catalog: claims.Catalog{Items: []resource.Item{item(t, "a", "a"), item(t, "x", "b")}}, claims: []claim.Claim{deleting("a"), deleting("b"), deleting("c")},
			want: []string{"c deletes c"},
		},
		"in the reverse of their order, otherwise by name": {
			claims: []claim.Claim{deleting("a"), deleting("b", after("c", "b", "gone")), deleting("c", after("d")), deleting("d"), deleting("e")},
			want:   []string{"e deletes e", "d deletes d", "c deletes c before d", "b deletes b before c", "a deletes a"},
		},
		"in any order of those that contradict each other": {
			claims: []claim.Claim{deleting("a", after("b")), deleting("b", after("a")), deleting("c", after("a"))},
			want:   []string{"c deletes c before a", "b deletes b", "a deletes a"},
		},
		"with the schedule":             {claims: []claim.Claim{deleting("a", at(daily))}, want: []string{"a deletes a daily"}},
		"not of those of others":        {claims: []claim.Claim{deleting("a", func(c *claim.Claim) { c.OwnerUID = "another" })}},
		"not of those to be left":       {claims: []claim.Claim{deleting("a", orphan)}, dropped: "a"},
		"but these claims stay in noop": {catalog: claims.Catalog{Noop: true}, claims: []claim.Claim{deleting("a", orphan)}},
		"reported in noop":              {catalog: claims.Catalog{Noop: true}, claims: []claim.Claim{deleting("a")}, want: []string{"a deletes a"}},
		"not if nothing was changed":    {claims: []claim.Claim{deleting("a", restoring(""))}, dropped: "a"},
		"that restore":                  {claims: []claim.Claim{deleting("a", restoring(`"present"`))}, want: []string{"a deletes a"}},
		"named after the object if the resource manages another one now": {
			catalog: claims.Catalog{Items: []resource.Item{item(t, "x", "b")}},
			claims:  []claim.Claim{deleting("a", func(c *claim.Claim) { c.Ref = ref("x") })}, want: []string{"a deletes a"},
		},
		"named after the resource otherwise": {
			claims: []claim.Claim{deleting("a", func(c *claim.Claim) { c.Ref = ref("x") })}, want: []string{"x deletes a"},
		},
		"not while the resource is withheld": {
			catalog: claims.Catalog{Withheld: []resource.Withheld{{Ref: ref("a")}}}, claims: []claim.Claim{deleting("a"), deleting("b", orphan)}, dropped: "b",
		},
		"not while the resource is invalid": {catalog: claims.Catalog{Items: []resource.Item{invalid("a")}}, claims: []claim.Claim{deleting("a")}},
		"that wait for a withheld resource of the kind": {
			catalog: claims.Catalog{Withheld: []resource.Withheld{{Ref: ref("other")}}}, claims: []claim.Claim{deleting("a", at(daily))},
			want: []string{"a deletes a, waits: " + withheld},
		},
		"that wait for an invalid resource of the kind": {
			catalog: claims.Catalog{Items: []resource.Item{invalid("other")}}, claims: []claim.Claim{deleting("a")},
			want: []string{"a deletes a, waits: " + withheld},
		},
		"that wait for a resource of the kind whose name is unknown": {
			catalog: claims.Catalog{Items: []resource.Item{item(t, "other", "?")}}, claims: []claim.Claim{deleting("a")},
			want: []string{"a deletes a, waits: " + unnamed},
		},
		"that do not wait for those of other kinds": {
			catalog: claims.Catalog{Withheld: []resource.Withheld{{Ref: resource.Ref{Kind: "Crate", Name: "other"}}}}, claims: []claim.Claim{deleting("a")},
			want: []string{"a deletes a"},
		},
		"that fail for an unknown kind": {
			claims: []claim.Claim{deleting("a", of("Crate"))},
			want:   []string{`a deletes a, fails: its resource is gone, and kind "Crate" is not known to this version of Fettle`},
		},
		"that fail for attributes of a later version": {
			claims: []claim.Claim{deleting("a", func(c *claim.Claim) { c.Delete = json.RawMessage(`{"since":9}`) })},
			want:   []string{`a deletes a, fails: cannot read the claim on Thing "a": json: unknown field "since"`},
		},
		"that fail for a broken claim": {
			claims: []claim.Claim{deleting("a", restoring(`"present"`), func(c *claim.Claim) { c.Delete = json.RawMessage(`{`) })},
			want:   []string{`a deletes a, fails: cannot read the claim on Thing "a": unexpected end of JSON input`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, kept := newLedger(c.claims...), newLedger(c.claims...)
			c.catalog.OwnerUID, c.catalog.Kinds = "uid", []resource.Kind{things()}
			got := c.catalog.Deletions(l)
			if diff := cmp.Diff(c.want, described(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			kept.DropClaim(ref(c.dropped))
			if diff := cmp.Diff(kept.claims, l.claims); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothingIsMissingFromItemsThatAreNoWholeCatalog(t *testing.T) {
	t.Parallel()
	ownerless := func(c *claim.Claim) { c.OwnerUID = "" }
	l := newLedger(deleting("a", ownerless), deleting("b", ownerless, orphan))
	got := claims.Catalog{Kinds: []resource.Kind{things()}}.Deletions(l)
	if len(got) > 0 || len(l.claims) != 2 {
		t.Errorf("deletes %v, and leaves %v", described(got), l.claims)
	}
}

func TestDeletionsCarryOutTheirClaims(t *testing.T) {
	t.Parallel()
	got := claims.Catalog{OwnerUID: "uid", Kinds: []resource.Kind{things()}}.Deletions(newLedger(deleting("a")))
	want, err := things().BindDeletion(ref("a"), json.RawMessage(`{"name":"a","ensure":"absent"}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Provider != "hand" || !cmp.Equal(got[0].Resource.Desired(), want.Desired()) {
		t.Errorf("got %+v", got)
	}
}

// A provider may tell that a claim with another spelling is on the object of an item.
func TestUnmanagedObjectsAreDeleted(t *testing.T) {
	t.Parallel()
	restoring := func(attributes ...string) func(*claim.Claim) {
		return func(c *claim.Claim) {
			c.Restore = map[string]json.RawMessage{}
			for _, a := range attributes {
				c.Restore[a] = json.RawMessage(`"` + c.Namevar + `"`)
			}
		}
	}
	for name, c := range map[string]struct {
		items  []resource.Item
		claims []claim.Claim
		want   []string
		claim  map[string][]string // what it restores, and from which claim, by name
	}{
		"managed": {
			items: []resource.Item{item(t, "x", "ann")}, claims: []claim.Claim{deleting("ANN", restoring("color"))},
			claim: map[string][]string{"ann": {`color="ANN"`}},
		},
		"managed and claimed": {
			items: []resource.Item{item(t, "x", "ann")}, claims: []claim.Claim{deleting("ANN", restoring("color", "size")), deleting("ann", restoring("color"))},
			claim: map[string][]string{"ann": {`color="ann"`, `size="ANN"`}},
		},
		"not managed": {
			items: []resource.Item{item(t, "x", "bob")}, claims: []claim.Claim{deleting("ANN")},
			want: []string{"ANN deletes ANN"}, claim: map[string][]string{"ANN": nil},
		},
		"of unknown name": {
			items: []resource.Item{item(t, "x", "?ann")}, claims: []claim.Claim{deleting("?Ann")},
			want:  []string{"?Ann deletes ?Ann, waits: its resource is gone, but Thing/x may manage the same thing, which is unknown until its provider tells its canonical name"},
			claim: map[string][]string{"?Ann": nil},
		},
		"unreadable": {
			items: []resource.Item{item(t, "x", "ann")}, claims: []claim.Claim{deleting("ANN", func(c *claim.Claim) { c.Delete = nil })},
			want:  []string{`ANN deletes ANN, fails: cannot read the claim on Thing "ANN": EOF`},
			claim: map[string][]string{"ANN": nil},
		},
	} {
		l := newLedger(c.claims...)
		catalog := claims.Catalog{OwnerUID: "uid", Items: c.items, Kinds: []resource.Kind{things()}}
		if diff := cmp.Diff(c.want, described(catalog.Unmanaged(l, catalog.Deletions(l)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		left := map[string][]string{}
		for key, claimed := range l.claims {
			var restored []string
			for _, a := range slices.Sorted(maps.Keys(claimed.Restore)) {
				restored = append(restored, a+"="+string(claimed.Restore[a]))
			}
			left[key.Name] = restored
		}
		if diff := cmp.Diff(c.claim, left); diff != "" {
			t.Errorf("%s: claims (-want +got):\n%s", name, diff)
		}
	}
}

func TestOnlyClaimsAreRenamed(t *testing.T) {
	t.Parallel()
	l := newLedger(deleting("b"))
	claims.Rename(l, ref("a"), ref("b"))
	claims.Rename(l, ref("a"), ref("c"))
	if diff := cmp.Diff(newLedger(deleting("b")).claims, l.claims); diff != "" || len(l.set) > 0 {
		t.Errorf("set %v (-want +got):\n%s", l.set, diff)
	}
}
