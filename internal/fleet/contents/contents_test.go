package contents_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/contents"
)

type refs = []v1alpha1.ResourceRef

func entry(name, attributes string) v1alpha1.CatalogEntry {
	return v1alpha1.CatalogEntry{Kind: "File", Name: name, Attributes: &runtime.RawExtension{Raw: []byte(attributes)}}
}

func spec(catalogs []string, entries []v1alpha1.CatalogEntry, withheld ...v1alpha1.ResourceRef) (s v1alpha1.NodeCatalogSpec) {
	for _, name := range catalogs {
		s.Catalogs = append(s.Catalogs, v1alpha1.CatalogRef{Name: name})
	}
	s.Entries = entries
	for _, ref := range withheld {
		s.Withheld = append(s.Withheld, v1alpha1.Withheld{Ref: ref})
	}
	return s
}

func TestDiff(t *testing.T) {
	t.Parallel()

	catalogs := map[string][]v1alpha1.CatalogEntry{
		"1":     {entry("a", `{"x":1}`), entry("b", `{}`)},
		"2":     {entry("a", `{"x":2}`), entry("b", `{ }`)},
		"3":     {entry("c", `{}`)},
		"moved": {entry("a", `{"x":1}`)},
	}
	for name, c := range map[string]struct {
		before, now v1alpha1.NodeCatalogSpec
		want        contents.Diff
	}{
		"equal":                            {spec([]string{"1"}, nil), spec([]string{"1"}, nil), contents.Diff{}},
		"other content":                    {spec([]string{"1"}, nil), spec([]string{"2"}, nil), contents.Diff{Changed: refs{"File/a"}}},
		"added":                            {spec([]string{"1"}, nil), spec([]string{"1", "3"}, nil), contents.Diff{Changed: refs{"File/c"}}},
		"removed":                          {spec([]string{"1", "3"}, nil), spec([]string{"3"}, nil), contents.Diff{Changed: refs{"File/a", "File/b"}, Removed: refs{"File/a", "File/b"}}},
		"moved to another catalog":         {spec([]string{"moved"}, nil), spec([]string{"1"}, nil), contents.Diff{Changed: refs{"File/b"}}},
		"moved to the node's entries":      {spec([]string{"3"}, nil), spec(nil, []v1alpha1.CatalogEntry{entry("c", `{}`)}), contents.Diff{Changed: refs{"File/c"}}},
		"an entry of the node changed":     {spec(nil, []v1alpha1.CatalogEntry{entry("c", `{"x":1}`)}), spec(nil, []v1alpha1.CatalogEntry{entry("c", `{}`)}), contents.Diff{Changed: refs{"File/c"}}},
		"an entry of the node removed":     {spec(nil, []v1alpha1.CatalogEntry{entry("c", `{}`)}), spec(nil, nil), contents.Diff{Changed: refs{"File/c"}, Removed: refs{"File/c"}}},
		"withheld":                         {spec([]string{"3"}, nil), spec([]string{"3"}, nil, "File/c"), contents.Diff{Changed: refs{"File/c"}}},
		"withheld without an entry":        {spec(nil, []v1alpha1.CatalogEntry{entry("c", `{}`)}), spec(nil, nil, "File/c"), contents.Diff{Changed: refs{"File/c"}}},
		"not withheld any more":            {spec([]string{"3"}, nil, "File/c"), spec([]string{"3"}, nil), contents.Diff{Changed: refs{"File/c"}}},
		"removed while it was withheld":    {spec(nil, nil, "File/c"), spec(nil, nil), contents.Diff{Changed: refs{"File/c"}, Removed: refs{"File/c"}}},
		"a catalog that is not there":      {spec([]string{"gone"}, nil), spec([]string{"3"}, nil), contents.Diff{Changed: refs{"File/c"}}},
		"withheld before and after a move": {spec([]string{"1"}, nil, "File/a"), spec([]string{"2"}, nil, "File/a"), contents.Diff{Changed: refs{"File/a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := contents.Differ{Entries: func(name string) []v1alpha1.CatalogEntry { return catalogs[name] }}
			for range 2 { // the second time from memory
				if diff := cmp.Diff(c.want, d.Diff(c.before, c.now), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}
