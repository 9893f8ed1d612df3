package status

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// setFacts sets the facts of a status and the names of those that do not fit. Equal facts
// keep their JSON as it was.
func setFacts(s *v1alpha1.NodeCatalogStatus, facts resource.Facts) {
	if facts == nil {
		return
	}
	is, _ := withoutNulls(text.EncodeAll(map[string]any(facts))).(map[string]any)
	omitted := fitFacts(is)
	s.OmittedFacts = cut(text.List(omitted), maxMessage)
	if raw := jsonOf(is); s.Facts == nil || !sameJSON(s.Facts.Raw, raw) {
		s.Facts = &runtime.RawExtension{Raw: raw}
	}
}

// withoutNulls returns a copy without null facts: a merge patch can't write null, and a missing fact
// means the same.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if e != nil {
				out[k] = withoutNulls(e)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = withoutNulls(e)
		}
		return out
	}
	return v
}

// fitFacts removes facts until config/policy and the schema accept the rest. It returns the sorted names of the removed
// ones. It removes facts that are nested too deep, then the largest.
func fitFacts(facts map[string]any) []string {
	var omitted []string
	for name, fact := range facts {
		if depth(fact) >= maxFactDepth {
			omitted = append(omitted, name)
			delete(facts, name)
		}
	}
	if over := len(facts) - maxFactNames; over > 0 {
		for _, name := range bySize(sizes(facts))[:over] {
			omitted = append(omitted, name)
			delete(facts, name)
		}
	}
	for over := len(jsonOf(facts)) - maxFacts; over > 0; over = len(jsonOf(facts)) - maxFacts {
		for largest := bySize(sizes(facts)); over > 0; largest = largest[1:] {
			name, freed := omit(facts, largest[0], over)
			omitted, over = append(omitted, name), over-freed
		}
	}
	slices.Sort(omitted)
	return omitted
}

// bySize returns the names of facts, the largest first.
func bySize(size map[string]int) []string {
	return slices.SortedFunc(maps.Keys(size), func(a, b string) int {
		return cmp.Or(size[b]-size[a], strings.Compare(a, b))
	})
}

// depth counts the levels of objects and lists in a fact; 0 for a plain value.
func depth(v any) (levels int) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			levels = max(levels, depth(e))
		}
	case []any:
		for _, e := range v {
			levels = max(levels, depth(e))
		}
	default:
		return 0
	}
	return levels + 1
}

// omit removes a fact or, if enough, only the part that takes more than half of it. It returns the name of the removed
// part and the number of bytes freed.
func omit(facts map[string]any, name string, over int) (omitted string, freed int) {
	if inner, ok := facts[name].(map[string]any); ok {
		for part, size := range sizes(inner) {
			if size >= over && 2*size > len(jsonOf(inner)) {
				omitted, freed = omit(inner, part, over)
				return name + "." + omitted, freed
			}
		}
	}
	freed = sizes(map[string]any{name: facts[name]})[name]
	delete(facts, name)
	return name, freed
}

// sizes returns the sizes of an object's members as JSON, in bytes.
func sizes(facts map[string]any) map[string]int {
	all := make(map[string]int, len(facts))
	for name, fact := range facts {
		all[name] = len(jsonOf(name)) + len(`:,`) + len(jsonOf(fact))
	}
	return all
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
