package cli_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/providers"
)

// Attributes adopted from decoded manifests must equal those that an agent binds from a catalog.
func TestAdoptedAttributesMatchCatalog(t *testing.T) {
	kinds := map[string]resource.Kind{}
	for _, k := range providers.Kinds() {
		kinds[k.Name()] = k
	}
	samples, err := source.Loader{}.Expand(source.Request{Files: []string{"../../config/samples", "../../config/samples/attributes"}})
	if err != nil {
		t.Fatal(err)
	}
	set := manifest.Read(t.Context(), samples, nil)
	for _, f := range set.Faults {
		t.Error(f)
	}
	for _, r := range set.Resources() {
		ref := resource.Ref{Kind: r.KindName(), Name: r.GetName()}
		t.Run(ref.String(), func(t *testing.T) {
			raw, err := json.Marshal(r.GetAttributes())
			if err != nil {
				t.Fatal(err)
			}
			kind, known := kinds[ref.Kind]
			if !known {
				t.Fatal("the type is not registered")
			}
			bound, bindErr := kind.Bind(ref, raw)
			adopted, err := kind.BindTyped(ref, r.GetAttributes())
			if !reflect.DeepEqual(bindErr, err) || !reflect.DeepEqual(bound, adopted) {
				t.Errorf("adopted:\n%+v (%v)\nbound:\n%+v (%v)", adopted, err, bound, bindErr)
			}
			again, err := json.Marshal(r.GetAttributes())
			if err != nil || string(again) != string(raw) {
				t.Errorf("adopting changed the attributes from %s to %s (%v)", raw, again, err)
			}
		})
	}
}
