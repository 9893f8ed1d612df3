package bundle

import (
	"maps"
	"strings"
)

// Fields are the names of allowed fields, as a tree. A name without names below it allows everything below the field.
type Fields map[string]Fields

// Allow returns the fields at paths such as "status.conditions.type". They lead through lists to the fields of each element.
func Allow(paths ...string) Fields {
	root := Fields{}
	for _, path := range paths {
		at := root
		for name := range strings.SplitSeq(path, ".") {
			if at[name] == nil {
				at[name] = Fields{}
			}
			at = at[name]
		}
	}
	return root
}

// With returns the fields with those at further paths.
func (f Fields) With(paths ...string) Fields {
	merged := Allow(paths...)
	for name, below := range f {
		if merged[name] == nil {
			merged[name] = below
			continue
		}
		maps.Copy(merged[name], below)
	}
	return merged
}

// Pick copies the allowed fields of a decoded JSON value.
func (f Fields) Pick(value any) any {
	if len(f) == 0 {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, below := range f {
			if field, ok := v[name]; ok {
				out[name] = below.Pick(field)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = f.Pick(element)
		}
		return out
	}
	return nil // a scalar where fields were expected
}
