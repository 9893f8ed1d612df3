package engine_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/claim"
)

// A surveying provider generates nothing, but looks at the inventory.
type surveying struct {
	plain
	look func(context.Context, resource.Inventory)
}

func (p surveying) Generate(ctx context.Context, _ resource.Reader, _ thing, all resource.Inventory) iter.Seq2[resource.Resource, error] {
	return func(func(resource.Resource, error) bool) { p.look(ctx, all) }
}

// survey runs items, among them Survey/s, which looks at the inventory. Providers know the names of Tags and Labels, and Twigs, Branches
// and Bundles are of one family.
func (m *machine) survey(t *testing.T, deaf *error, items [][]string, look func(context.Context, resource.Inventory), with ...func(*engine.Transaction)) {
	t.Helper()
	looked := false
	surveys := m.typ("Survey", []resource.Provider[thing]{surveying{plain{m, "bird"}, func(ctx context.Context, all resource.Inventory) {
		looked = true
		look(ctx, all)
	}}})
	tags, labels := m.tags(deaf), m.tags(deaf)
	labels.Name = "Label"
	twigs, branches := m.typ("Twig", []resource.Provider[thing]{plain{m, "hand"}}), m.typ("Branch", []resource.Provider[thing]{plain{m, "hand"}})
	bundles := m.typ("Bundle", []resource.Provider[thing]{batching{plain{m, "hand"}}})
	kinds := m.kinds()
	for _, typ := range []*resource.Type[thing]{twigs, branches, bundles} {
		typ.Family = "wood"
	}
	for _, typ := range []*resource.Type[thing]{surveys, tags, labels, twigs, branches, bundles} {
		kinds[typ.Name] = bound.Kind(typ)
	}
	var all []resource.Item
	var known []resource.Kind
	for _, i := range items {
		if i[1] == "" {
			all = append(all, invalid(i[0]))
		} else {
			all = append(all, m.itemOf(t, kinds, i[0], i[1]))
		}
	}
	for _, k := range kinds {
		known = append(known, k)
	}
	transact(t, all, append(with, func(tx *engine.Transaction) { tx.Kinds = known })...)
	if !looked {
		t.Error("the inventory was not looked at")
	}
}

func TestInventoryHasKindsThatManageTheSame(t *testing.T) {
	t.Parallel()
	m := newMachine()
	var deaf error
	m.survey(t, &deaf, [][]string{{"Survey/s", red}, {"Branch/oak", red}, {"Thing/x", red}}, func(_ context.Context, all resource.Inventory) {
		for ref, want := range map[string]bool{"Branch/oak": true, "Twig/oak": true, "Thing/oak": false, "Thing/x": true, "Twig/x": false, "Crate/x": false, "Unheard/oak": false} {
			kind, name, _ := strings.Cut(ref, "/")
			if got := all.Has(kind, name); got != want {
				t.Errorf("%s: got %t", ref, got)
			}
		}
		for name, want := range map[string]bool{"Branch": true, "Unheard": false} {
			if kind, ok := all.Kind(name); ok != want || ok && kind.Name() != name {
				t.Errorf("kind %s: got %v, %t", name, kind, ok)
			}
		}
	})
}

// While it is unknown which object a resource manages, generators remove nothing of its kind.
func TestInventoryKnowsWhatIsUnnamed(t *testing.T) {
	t.Parallel()
	errDeaf := errors.New("deaf")
	another := &resource.OtherNameError{Reason: "answers for elm"}
	const found, heard = "Branch/oak cannot read the present state: answers for elm", "Tag/A cannot read the present state: deaf"
	survey, change := []string{"Survey/s", red}, []string{"Crate/c", red} // whose change has side effects
	answers := func(m *machine) { m.fail["read oak"] = another }
	for name, c := range map[string]struct {
		items [][]string
		deaf  error
		given func(m *machine)
		then  func(m *machine, deaf *error) // before the inventory is asked
		kind  string
		claim string // an object that left the catalog
		want  string
	}{
		"what is named":                     {items: [][]string{survey, {"Tag/A", red}}, kind: "Tag"},
		"what its provider cannot tell":     {items: [][]string{survey, {"Tag/A", red}}, deaf: errDeaf, kind: "Tag", want: heard},
		"what it could not tell, unchanged": {items: [][]string{survey, {"Tag/A", red}}, deaf: errDeaf, then: func(_ *machine, deaf *error) { *deaf = nil }, kind: "Tag", want: heard},
		"what it can tell after a change": {
			items: [][]string{change, survey, {"Tag/A", red}}, deaf: errDeaf, then: func(_ *machine, deaf *error) { *deaf = nil }, kind: "Tag",
		},
		"what has no provider": {
			items: [][]string{survey, {"Tag/A", red}}, given: func(m *machine) { m.suits["hand"] = errBroken }, kind: "Tag",
			want: "Tag/A cannot find a suitable provider for Tag: hand: broken",
		},
		"what is of another kind":        {items: [][]string{survey, {"Tag/A", red}}, deaf: errDeaf, kind: "Label"},
		"what is invalid":                {items: [][]string{survey, {"Tag/A", ""}}, kind: "Tag"},
		"what left the catalog":          {items: [][]string{survey, {"Label/B", red}}, deaf: errDeaf, kind: "Tag", claim: "A"},
		"what answers with another name": {items: [][]string{survey, {"Branch/oak", red}}, given: answers, kind: "Branch", want: found},
		"what does so in its family":     {items: [][]string{survey, {"Twig/fir", red}, {"Branch/oak", red}}, given: answers, kind: "Twig", want: found},
		"what does so in no family":      {items: [][]string{survey, {"Thing/oak", red}}, given: answers, kind: "Thing"},
		"what answered with its own name": {
			items: [][]string{{"Branch/oak", red}, change, survey}, then: func(m *machine, _ *error) { answers(m) }, kind: "Branch",
		},
		"what answers now with another name": {
			items: [][]string{{"Branch/oak", red}, survey}, given: func(m *machine) { m.fail["read oak"] = errBroken }, then: func(m *machine, _ *error) { answers(m) },
			kind: "Branch", want: found,
		},
		"what could not be read in a batch, unchanged": {
			items: [][]string{{"Bundle/oak", red}, survey}, given: func(m *machine) { m.fail["read oak"] = errBroken }, then: func(m *machine, _ *error) { answers(m) },
			kind: "Bundle",
		},
		"what of a family has no provider": {
			items: [][]string{survey, {"Branch/oak", red}}, given: func(m *machine) { answers(m); m.suits["hand"] = errBroken }, kind: "Branch",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, store, deaf := newMachine(), newMemory(), c.deaf
			for _, name := range []string{"s", "oak", "fir", "a", "b"} {
				m.things[name] = redThing(name)
			}
			if c.given != nil {
				c.given(m)
			}
			if c.claim != "" {
				store.SetClaim(claim.Claim{
					Kind: "Tag", Namevar: c.claim, OwnerUID: "uid", Ref: resource.Ref{Kind: "Tag", Name: c.claim},
					Deletion: resource.Delete, Delete: []byte(`{"name":"` + c.claim + `","ensure":"absent"}`),
				})
			}
			got := ""
			m.survey(t, &deaf, c.items, func(ctx context.Context, all resource.Inventory) {
				if c.then != nil {
					c.then(m, &deaf)
				}
				if ref, err := all.Unnamed(ctx, c.kind); err != nil {
					got = ref.String() + " " + err.Error()
				}
			}, storing(store), func(tx *engine.Transaction) { tx.OwnerUID = "uid" })
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("unnamed (-want +got):\n%s", diff)
			}
		})
	}
}
