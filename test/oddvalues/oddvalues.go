// Package oddvalues makes resources with attributes as people get them wrong: of another type,
// empty, negative, huge, misspelled, repeated, nested where nothing is.
//
// The attributes are those of the CRDs, so that a new one is covered without anybody's doing.
package oddvalues

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/config/crd"
)

// A Generator makes resources, the same ones for the same seed. Not safe for concurrent use.
type Generator struct {
	rand  *rand.Rand
	kinds []string
	specs map[string]apiextensionsv1.JSONSchemaProps
	bases map[string][]map[string]any // valid resources of each kind
}

// New makes a generator that alters the resources in the YAML files of directories, which
// must have one of each kind.
func New(seed uint64, dirs ...string) (*Generator, error) {
	g := &Generator{
		rand:  rand.New(rand.NewPCG(seed, 0)),
		specs: map[string]apiextensionsv1.JSONSchemaProps{}, bases: map[string][]map[string]any{},
	}
	for _, r := range v1alpha1.Resources() {
		c, err := crd.Of(r.KindName())
		if err != nil {
			return nil, err
		}
		g.kinds = append(g.kinds, r.KindName())
		g.specs[r.KindName()] = c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	}
	for _, dir := range dirs {
		if err := g.read(dir); err != nil {
			return nil, err
		}
	}
	for _, kind := range g.kinds {
		if len(g.bases[kind]) == 0 {
			return nil, fmt.Errorf("no sample of kind %s in %v", kind, dirs)
		}
	}
	return g, nil
}

func (g *Generator) read(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for doc := range strings.SplitSeq("\n"+string(text), "\n---") {
			var o map[string]any
			if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if kind, _ := o["kind"].(string); slices.Contains(g.kinds, kind) {
				g.bases[kind] = append(g.bases[kind], o)
			}
		}
	}
	return nil
}

// Next is a resource of a random kind with one or two odd attributes, as JSON. It relates
// to no other and applies without facts.
func (g *Generator) Next(name string) []byte {
	kind := pick(g.rand, g.kinds)
	o := clone(pick(g.rand, g.bases[kind]))
	o["metadata"] = map[string]any{"name": name}
	spec := o["spec"].(map[string]any)
	for _, elsewhere := range []string{"require", "before", "notify", "subscribe", "when", "contentTemplate", "contentFrom", "caFrom", "passwordFrom"} {
		delete(spec, elsewhere)
	}
	for range 1 + g.rand.IntN(2) {
		g.alter(spec, g.specs[kind])
	}
	if run, set := spec["refreshOnly"]; kind == "Exec" && (!set || run == false) {
		spec["refreshOnly"] = true // nothing is to run
	}
	raw, err := json.Marshal(o)
	if err != nil { // values that JSON knows
		panic(err)
	}
	return raw
}

// alter sets a field of an object, or one that it does not have.
func (g *Generator) alter(object map[string]any, s apiextensionsv1.JSONSchemaProps) {
	names := slices.Sorted(maps.Keys(s.Properties))
	name := pick(g.rand, names)
	switch g.rand.IntN(20) {
	case 0:
		object[misspelled(g.rand, name)] = g.valueOf(s.Properties[name])
		return
	case 1:
		delete(object, name)
		return
	}
	object[name] = g.valueOf(s.Properties[name])
}

// valueOf is a value for a schema, right or wrong.
func (g *Generator) valueOf(s apiextensionsv1.JSONSchemaProps) any {
	if g.rand.IntN(4) == 0 {
		return pick(g.rand, odd)
	}
	switch {
	case len(s.Enum) > 0:
		return g.word(s.Enum)
	case s.Type == "object":
		object := map[string]any{}
		for range g.rand.IntN(3) * min(1, len(s.Properties)) {
			g.alter(object, s)
		}
		return object
	case s.Type == "array":
		list := []any{}
		for range g.rand.IntN(3) {
			list = append(list, g.valueOf(*s.Items.Schema))
		}
		return list
	case s.Type == "boolean":
		return g.rand.IntN(2) == 0
	case s.Type == "integer":
		return pick(g.rand, numbers)
	}
	return pick(g.rand, words)
}

// word is one of a list, or nearly.
func (g *Generator) word(enum []apiextensionsv1.JSON) string {
	var word string
	if json.Unmarshal(pick(g.rand, enum).Raw, &word) != nil || g.rand.IntN(2) == 0 {
		return word
	}
	return misspelled(g.rand, word)
}

var numbers = []any{-1, 0, 1, 2, 300, int64(1) << 31, -(int64(1) << 31) - 1, int64(1) << 53, int64(1)<<62 + 1, 1.5, -0.5}

var words = []any{
	"", " ", "a", "web", "Web", "/etc/a", "/etc/../a", "etc/a", "~/a", "a b", "a\nb", "a\tb", "a:b", "a/b", "*", "..", "-a", "0", "0644", "u=rw,g=r", "07777", "9999",
	"1Gi", "-1Gi", "1e3", "5m", "absent", "Present", "latest", ">=1.0 <2.0", "2027-01-01", "2027-13-01", "22:00-04:00", "Zoë", "\u202egpj", "\u0000", "%", "{{", "$6$a$b",
	strings.Repeat("a", 300), strings.Repeat("ä", 5000), "File/a", "file/a", "https://localhost:1/a", "all", "null", "true",
}

var odd = slices.Concat(numbers, []any{
	nil, true, false, []any{}, []any{nil}, []any{"a", "a"}, []any{1}, []any{[]any{}}, map[string]any{}, map[string]any{"a": nil}, map[string]any{"a": map[string]any{"b": 1}}, "", "a",
})

// misspelled is a word as people write it who do not look.
func misspelled(r *rand.Rand, word string) string {
	if word == "" {
		return "x"
	}
	at := r.IntN(len(word))
	return pick(r, []string{
		strings.ToUpper(word), strings.ToLower(word), strings.ToUpper(word[:1]) + word[1:], word[:at] + word[at+1:], word + "s", " " + word, word + " ", word[:at] + "_" + word[at:],
	})
}

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

func clone(o map[string]any) map[string]any {
	raw, err := json.Marshal(o)
	var out map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil { // it was read from YAML
		panic(err)
	}
	return out
}
