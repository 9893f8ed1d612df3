package nodeagent

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/internal/resource"
)

// publishedFacts are facts as a status has them. Where they say the same as before,
// the very same text stays.
func publishedFacts(prev *runtime.RawExtension, facts resource.Facts) *runtime.RawExtension {
	if facts == nil {
		return prev
	}
	is, _ := withoutNulls(map[string]any(facts)).(map[string]any)
	fitFacts(is)
	raw := jsonOf(is)
	if prev != nil && sameJSON(prev.Raw, raw) {
		return prev
	}
	return &runtime.RawExtension{Raw: raw}
}

// withoutNulls is a copy without the facts that are null: a merge patch can't write
// them, and a missing fact says the same.
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

// fitFacts leaves the largest facts out until there is room for all of them.
func fitFacts(facts map[string]any) {
	for size := len(jsonOf(facts)); size > maxFacts; size = len(jsonOf(facts)) {
		names := slices.Sorted(maps.Keys(facts))
		delete(facts, slices.MaxFunc(names, func(a, b string) int {
			return len(jsonOf(facts[a])) - len(jsonOf(facts[b]))
		}))
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
