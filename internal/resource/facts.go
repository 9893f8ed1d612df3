package resource

import (
	"fmt"
	"strings"
)

// Facts are what a host says of itself, in Facter's structured names: maps, slices,
// strings, numbers and booleans as encoding/json makes them. The zero value has no
// fact. Not to be changed once shared.
type Facts map[string]any

// Get follows a dotted name, as in os.release.major.
func (f Facts) Get(name string) (any, bool) {
	var v any = map[string]any(f)
	for part := range strings.SplitSeq(name, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[part]; !ok {
			return nil, false
		}
	}
	return v, true
}

// String is a fact as text; a fact that is missing is the empty string.
func (f Facts) String(name string) string {
	v, ok := f.Get(name)
	if !ok || v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
