package resource

import (
	"cmp"
	"fmt"
	"strings"
)

// A Ref identifies a resource by its kind and metadata.name, written Kind/name.
type Ref struct{ Kind, Name string }

// String returns the form that users write and read, such as File/motd.
func (r Ref) String() string { return r.Kind + "/" + r.Name }

// Compare orders references by kind and then name.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(strings.Compare(r.Kind, o.Kind), strings.Compare(r.Name, o.Name))
}

// ParseRef parses Kind/name.
func ParseRef(s string) (Ref, error) {
	kind, name, ok := strings.Cut(s, "/")
	if !ok || kind == "" || name == "" {
		return Ref{}, fmt.Errorf("reference %q is not Kind/name, as in File/motd", s)
	}
	return Ref{kind, name}, nil
}
