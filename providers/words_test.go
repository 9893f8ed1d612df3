package providers_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/config/crd"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers"
)

// ofEveryKind has the fields that every kind has.
var ofEveryKind = []string{"logLevel", "deletionPolicy"}

// A provider never gets a word that the CRD does not list: it could treat it as the
// opposite of another.
func TestTypesRejectValuesThatTheirCRDDoesNotList(t *testing.T) {
	tried := 0
	for _, k := range providers.Kinds() {
		c, err := crd.Of(k.Name())
		if err != nil {
			t.Fatal(err)
		}
		spec := c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		for _, attribute := range slices.Sorted(maps.Keys(spec.Properties)) {
			enum := spec.Properties[attribute].Enum
			if len(enum) == 0 || slices.Contains(ofEveryKind, attribute) {
				continue
			}
			var words []string
			for _, raw := range enum {
				var word string
				if err := json.Unmarshal(raw.Raw, &word); err != nil {
					t.Fatal(err)
				}
				words = append(words, word)
			}
			tried++
			t.Run(k.Name()+"."+attribute, func(t *testing.T) { refusesOthers(t, k, attribute, words) })
		}
	}
	if tried < 15 {
		t.Errorf("only %d attributes have words", tried)
	}
}

func refusesOthers(t *testing.T, k resource.Kind, attribute string, words []string) {
	t.Helper()
	bind := func(word string) string {
		raw, err := json.Marshal(map[string]string{attribute: word})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = k.Bind(resource.Ref{Kind: k.Name(), Name: "a"}, raw); err != nil {
			return err.Error()
		}
		return ""
	}
	last := len(words) - 1
	refusal := func(word string) string {
		return attribute + ` "` + word + `" is not known: use ` + strings.Join(words[:last], ", ") + " or " + words[last]
	}
	for _, word := range words {
		if got := bind(word); got == refusal(word) {
			t.Errorf("the CRD lists %q: %s", word, got)
		}
		for _, other := range []string{"", word + " ", word[1:], strings.ToUpper(word[:1]) + word[1:], strings.ToUpper(word), strings.ToLower(word)} {
			if slices.Contains(words, other) {
				continue
			}
			if got := bind(other); got != refusal(other) {
				t.Errorf("%q: got %q, want %q", other, got, refusal(other))
			}
		}
	}
}
