package puppet

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	valid  = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
	name   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
	titled = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_:]*)\[(.+)\]$`) // Package[nginx]
	mixed  = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_:]*)/(.+)$`)    // package/nginx
)

// IsReference reports whether a reference is Kind/name, of any kind.
func IsReference(text string) bool { return valid.MatchString(text) }

// Reference answers a reference that is not Kind/name or whose kind is not among kinds: "is Puppet's form: write
// Package/nginx". It returns "" for one that is.
func Reference(text string, kinds []string) string {
	if kind, _, _ := strings.Cut(text, "/"); IsReference(text) && slices.Contains(kinds, kind) {
		return ""
	}
	if parts := titled.FindStringSubmatch(text); parts != nil {
		return "is Puppet's form: " + advice(parts[1], strings.Trim(parts[2], `'"`), kinds)
	}
	if parts := mixed.FindStringSubmatch(text); parts != nil {
		return "names no resource: " + advice(parts[1], parts[2], kinds)
	}
	return "names no resource: write Kind/name, such as Package/nginx"
}

// Instead says what to write for a reference Kind/name whose kind is a word of others: "write SystemService/nginx". It returns "" for another
// kind, and for one of kinds.
func Instead(text string, kinds []string) string {
	kind, title, _ := strings.Cut(text, "/")
	if _, _, foreign := find(kind); !foreign || slices.Contains(kinds, kind) {
		return ""
	}
	return advice(kind, title, kinds)
}

// advice says how to write a reference to a resource of Puppet.
func advice(kind, title string, kinds []string) string {
	w, _, foreign := find(kind)
	known := slices.IndexFunc(kinds, func(k string) bool { return plain(k) == plain(kind) })
	switch {
	case known >= 0:
		kind = kinds[known]
	case foreign && w.kind == "":
		return Kind(kind)
	case foreign:
		kind = w.kind
	default:
		return fmt.Sprintf("there is no kind %s: write Kind/name with one of %s", kind, strings.Join(kinds, ", "))
	}
	if !name.MatchString(title) {
		return fmt.Sprintf("write %s/ and the metadata.name of the %s, which has only lower-case letters, digits, - and .", kind, kind)
	}
	return fmt.Sprintf("write %s/%s", kind, title)
}
