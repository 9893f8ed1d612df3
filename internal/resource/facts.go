package resource

import (
	"fmt"
	"strings"
)

// Facts describe a host, under Facter's structured names: maps, slices, strings, numbers and
// booleans as encoding/json decodes them. The zero value has no facts. Do not modify shared Facts.
type Facts map[string]any

// Get returns the fact with a dotted name, such as os.release.major.
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

// String returns a fact as text. A missing fact is the empty string.
func (f Facts) String(name string) string {
	v, ok := f.Get(name)
	if !ok || v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
