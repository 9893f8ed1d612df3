package catalog

import (
	"maps"

	"github.com/fettle-dev/fettle/internal/resource"
)

// A subject is a node as expressions and templates see it during one compilation. Its
// facts are decoded when the first of them asks.
type subject struct {
	Node
	seal  sealFunc
	facts resource.Facts
	asked bool
	vars  map[string]any
}

// same reports whether two nodes look the same to whatever can be said of one.
func (n *Node) same(o *Node) bool {
	return n.FactsKey == o.FactsKey && n.PublicKey == o.PublicKey && (n.Facts == nil) == (o.Facts == nil) &&
		maps.Equal(n.Labels, o.Labels) && maps.Equal(n.Annotations, o.Annotations)
}

// reported tells whether there are facts.
func (n *subject) reported() bool { return n.known() != nil }

func (n *subject) known() resource.Facts {
	if !n.asked && n.Facts != nil {
		n.facts = n.Facts()
	}
	n.asked = true
	return n.facts
}

// variables are what expressions and templates speak of. Never to be changed.
func (n *subject) variables() map[string]any {
	if n.vars != nil {
		return n.vars
	}
	facts := map[string]any(n.known())
	if facts == nil {
		facts = map[string]any{}
	}
	n.vars = map[string]any{
		"facts": facts,
		"node": map[string]any{
			"name":        n.Name,
			"labels":      values(n.Labels),
			"annotations": values(n.Annotations),
		},
	}
	return n.vars
}

// values are labels as functions of templates take maps.
func values(m map[string]string) map[string]any {
	all := make(map[string]any, len(m))
	for key, value := range m {
		all[key] = value
	}
	return all
}
