package dscbuild

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A tree is a JSON schema, decoded.
type tree = map[string]any

// maxNodes limits a schema after its references are resolved: small schemas can stand for very large ones.
const maxNodes = 20_000

// A resolver replaces references by what they refer to.
type resolver struct {
	root  tree
	nodes int
	open  []string // references that are being resolved
}

// resolved returns a schema without references and definitions.
func resolved(root tree) (tree, error) {
	r := &resolver{root: root}
	out, err := r.object(root, false)
	if err != nil {
		return nil, err
	}
	delete(out, "id") // of draft 4
	return out, nil
}

// A keywordKind is what a keyword has.
type keywordKind int

const (
	ofSchemas keywordKind = iota // or numbers and texts
	ofNames                      // schemas by names that are not keywords
	ofValues
	dropped
	refused
)

// kindOf returns what a key of a schema has. The keys of names are not keywords.
func kindOf(key string, names bool) keywordKind {
	if names {
		return ofSchemas
	}
	switch key {
	case "properties", "patternProperties", "dependentSchemas":
		return ofNames
	case "const", "enum", "default", "examples":
		return ofValues
	case "$ref", "$defs", "definitions", "$comment", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$schema":
		return dropped
	case "$dynamicRef", "$recursiveRef":
		return refused
	}
	return ofSchemas
}

// object resolves a schema, or a map of schemas by names that are not keywords.
func (r *resolver) object(t tree, names bool) (tree, error) {
	if r.nodes++; r.nodes > maxNodes {
		return nil, fmt.Errorf("the schema has more than %d parts after its references are resolved", maxNodes)
	}
	out := tree{}
	for _, key := range slices.Sorted(maps.Keys(t)) {
		kind := kindOf(key, names)
		switch kind {
		case dropped:
		case refused:
			return nil, fmt.Errorf("%s is refused: write the schema where it is used", key)
		case ofValues:
			out[key] = t[key]
		case ofSchemas, ofNames:
			value, err := r.value(t[key], kind == ofNames)
			if err != nil {
				return nil, err
			}
			out[key] = value
		}
	}
	if ref, ok := t["$ref"].(string); ok && !names {
		return r.reference(ref, out)
	}
	return out, nil
}

func (r *resolver) value(value any, names bool) (any, error) {
	switch v := value.(type) {
	case tree:
		return r.object(v, names)
	case []any:
		all := make([]any, len(v))
		for i, e := range v {
			var err error
			if all[i], err = r.value(e, false); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	return value, nil
}

// reference returns the schema that a reference refers to, with the keywords beside it.
func (r *resolver) reference(ref string, beside tree) (tree, error) {
	if slices.Contains(r.open, ref) {
		return nil, fmt.Errorf("the schema refers to itself by %s: give it a limited depth", ref)
	}
	target, err := r.target(ref)
	if err != nil {
		return nil, err
	}
	r.open = append(r.open, ref)
	out, err := r.object(target, false)
	r.open = r.open[:len(r.open)-1]
	if err != nil {
		return nil, err
	}
	both := tree{}
	for key, value := range out {
		if _, ok := beside[key]; ok && !isAnnotation(key) {
			both["allOf"] = []any{out}
			maps.Copy(both, beside)
			return both, nil
		}
		both[key] = value
	}
	maps.Copy(both, beside)
	return both, nil
}

// isAnnotation reports whether a keyword only has words for people.
func isAnnotation(keyword string) bool {
	return slices.Contains([]string{"title", "description", "default", "examples", "deprecated"}, keyword)
}

// target finds the schema of a reference in the same document.
func (r *resolver) target(ref string) (tree, error) {
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, fmt.Errorf("the reference %q is refused: only those that begin with #/ are resolved, because nothing is loaded", ref)
	}
	var at any = r.root
	for part := range strings.SplitSeq(pointer, "/") {
		object, ok := at.(tree)
		if !ok {
			return nil, fmt.Errorf("the reference %q leads nowhere", ref)
		}
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	found, ok := at.(tree)
	if !ok {
		return nil, fmt.Errorf("the reference %q leads nowhere", ref)
	}
	return found, nil
}
