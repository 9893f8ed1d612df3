package bundle

import (
	"maps"
	"strings"
)

// An allowlist is a tree of the names of allowed fields. A name without names below it allows everything below the field.
type allowlist map[string]allowlist

// allow returns the list of paths such as "status.conditions.type". They lead through lists to the fields of each element.
func allow(paths ...string) allowlist {
	root := allowlist{}
	for _, path := range paths {
		at := root
		for name := range strings.SplitSeq(path, ".") {
			if at[name] == nil {
				at[name] = allowlist{}
			}
			at = at[name]
		}
	}
	return root
}

// with returns the list with further paths.
func (l allowlist) with(paths ...string) allowlist {
	merged := allow(paths...)
	for name, below := range l {
		if merged[name] == nil {
			merged[name] = below
			continue
		}
		maps.Copy(merged[name], below)
	}
	return merged
}

// pick copies the allowed fields of a decoded JSON value.
func (l allowlist) pick(value any) any {
	if len(l) == 0 {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, below := range l {
			if field, ok := v[name]; ok {
				out[name] = below.pick(field)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = l.pick(element)
		}
		return out
	}
	return nil // a scalar where fields were expected
}
