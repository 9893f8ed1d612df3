package jsonschema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// hasHugeNumber reports whether a schema or a value has a number that takes much memory to compare exactly. The library ends
// the program at the largest ones.
func hasHugeNumber(tree any) bool {
	switch t := tree.(type) {
	case json.Number:
		return !isPlain(t)
	case []any:
		return slices.ContainsFunc(t, hasHugeNumber)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(t)), hasHugeNumber)
	}
	return false
}

// isPlain reports whether a number has few digits, also when its exponent is written out.
func isPlain(n json.Number) bool {
	const most = 400 // the largest float has 309
	text := n.String()
	if len(text) > most {
		return false
	}
	_, exponent, ok := strings.Cut(strings.ToLower(text), "e")
	if !ok {
		return true
	}
	e, err := strconv.Atoi(exponent)
	return err == nil && e >= -most && e <= most
}
