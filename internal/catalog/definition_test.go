package catalog_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
)

func lamps(t *testing.T) v1alpha1.ExternalTypeSpec {
	t.Helper()
	return v1alpha1.ExternalTypeSpec{
		Kind: "Lamp", Version: "1", Description: "Manages <lamps> & bulbs.",
		Attributes: []v1alpha1.ExternalAttribute{{
			Name: "name", Description: "Its name.", Behaviour: v1alpha1.BehaviourNamevar, Schema: &runtime.RawExtension{Raw: []byte(`{"type":"string","maxLength":63}`)},
		}},
		Providers: []v1alpha1.ExternalProvider{{Name: "sh", Command: []string{"./lamp.sh"}}},
		Source:    v1alpha1.ExternalSource{Files: map[string]string{"lamp.sh": "#!/bin/sh\n", "page.html": strings.Repeat("<p>&amp;\x01</p>\n", 1000)}},
	}
}

func ofLamps(t *testing.T, spec v1alpha1.ExternalTypeSpec) *v1alpha1.Catalog {
	t.Helper()
	c, err := catalog.OfType("lamps", spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestADefinitionIsReadAsItWasStored(t *testing.T) {
	t.Parallel()

	spec := lamps(t)
	c := ofLamps(t, spec)
	raw, err := json.MarshalIndent(c, "", "  ") // an API server writes it in its own way
	if err != nil {
		t.Fatal(err)
	}
	var stored v1alpha1.Catalog
	if err := json.Unmarshal(raw, &stored); err != nil {
		t.Fatal(err)
	}
	got, err := catalog.TypeOf(c.Name, &stored, "lamps")
	if err != nil {
		t.Fatal(err)
	}
	text := func(s v1alpha1.ExternalTypeSpec) string {
		raw, err := catalog.Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw.Raw)
	}
	if diff := cmp.Diff(text(spec), text(*got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	another := spec
	another.Version = "2"
	if ofLamps(t, another).Name == c.Name {
		t.Error("another version has the same Catalog")
	}
}

func TestADefinitionOfANewerVersionSaysWhatIsUnknown(t *testing.T) {
	t.Parallel()

	c := ofLamps(t, lamps(t))
	c.Entries[0].Attributes.Raw = []byte(strings.Replace(string(c.Entries[0].Attributes.Raw), `{`, `{"onlyOn":["Sundays"],`, 1))
	got, err := catalog.TypeOf(catalog.Name(c.Entries), c, "lamps")
	if err != nil || got.Unknown != `unknown field "onlyOn"` {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestOnlyADefinitionOfTheTypeIsRead(t *testing.T) {
	t.Parallel()

	for name, change := range map[string]func(*v1alpha1.CatalogEntry){
		"of another type":      func(e *v1alpha1.CatalogEntry) { e.Name = "bulbs" },
		"of another kind":      func(e *v1alpha1.CatalogEntry) { e.Kind = "File" },
		"without a definition": func(e *v1alpha1.CatalogEntry) { e.Attributes = nil },
		"with something else":  func(e *v1alpha1.CatalogEntry) { e.Attributes.Raw = []byte(`["kind"]`) },
	} {
		c := ofLamps(t, lamps(t))
		change(&c.Entries[0])
		_, err := catalog.TypeOf(catalog.Name(c.Entries), c, "lamps")
		if _, invalid := errors.AsType[*catalog.InvalidCatalogError](err); !invalid {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := catalog.TypeOf(ofLamps(t, lamps(t)).Name, c, "lamps"); err == nil {
			t.Errorf("%s: its name is not verified", name)
		}
	}
}

// An API server that has stored a type stores its definition, too: with what it adds to a type, that is larger.
func TestADefinitionTakesNoMoreRoomThanItsType(t *testing.T) {
	t.Parallel()

	size := func(v any) int {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return len(raw)
	}
	typ := &v1alpha1.ExternalType{Spec: lamps(t)}
	typ.Name = "lamps"
	if c, is := size(ofLamps(t, lamps(t))), size(typ); c > is+256 {
		t.Errorf("the Catalog takes %d bytes, and the type %d", c, is)
	}
}
