package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
)

func TestAutomaticRelationsOrderAndRefresh(t *testing.T) {
	near := func(thing thing) []string { return thing.Near }
	for name, test := range map[string]struct {
		relation resource.AutoRelation[thing]
		trees    []string // in the order of the catalog; a is near ghost, itself, b and c
		there    string   // of them
		did      []string
	}{
		"a requires b":                    {resource.AutoRelation[thing]{Relation: resource.Require}, []string{"a", "b"}, "", []string{"write b (ensure)", "write a (ensure)"}},
		"a comes before b":                {resource.AutoRelation[thing]{Relation: resource.Before}, []string{"b", "a"}, "", []string{"write a (ensure)", "write b (ensure)"}},
		"a subscribes to b":               {resource.AutoRelation[thing]{Relation: resource.Subscribe}, []string{"a", "b"}, "a", []string{"write b (ensure)", "refresh a"}},
		"a notifies b":                    {resource.AutoRelation[thing]{Relation: resource.Notify}, []string{"b", "a"}, "b", []string{"write a (ensure)", "refresh b"}},
		"a requires both":                 {resource.AutoRelation[thing]{Relation: resource.Require}, []string{"a", "c", "b"}, "", []string{"write c (ensure)", "write b (ensure)", "write a (ensure)"}},
		"a requires the nearest that is":  {resource.AutoRelation[thing]{Relation: resource.Require, Nearest: true}, []string{"a", "b", "c"}, "", []string{"write b (ensure)", "write a (ensure)", "write c (ensure)"}},
		"a comes before no other":         {resource.AutoRelation[thing]{Relation: resource.Before}, []string{"d", "a"}, "", []string{"write d (ensure)", "write a (ensure)"}},
		"a requires the one that is left": {resource.AutoRelation[thing]{Relation: resource.Require, Nearest: true}, []string{"a", "c"}, "", []string{"write c (ensure)", "write a (ensure)"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			if test.there != "" {
				m.things[test.there] = redThing(test.there)
			}
			typ := m.typ("Tree", []resource.Provider[thing]{plain{m, "hand"}})
			test.relation.Kind, test.relation.Names = "Tree", near
			typ.Auto = []resource.AutoRelation[thing]{test.relation}
			attributes := map[string]string{"a": `{"ensure":"present","near":["ghost","a","b","c"]}`, "b": red, "c": red, "d": red}
			items := []resource.Item{invalid("Tree/first")}
			for _, tree := range test.trees {
				items = append(items, of(t, typ, tree, attributes[tree]))
			}
			transact(t, append(items, invalid("Tree/last")))
			if diff := cmp.Diff(test.did, m.log); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
		})
	}
}
