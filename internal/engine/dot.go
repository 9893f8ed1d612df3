package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
)

// Dot draws items and the relations between them, in the language of Graphviz. Written
// relations are solid, those that refresh bold, automatic ones dashed; what is part of a
// cycle is red.
func Dot(items []resource.Item) string {
	p := newPlan(items)
	var b strings.Builder
	b.WriteString("digraph resources {\n\tnode [shape=box];\n")
	for i, item := range items {
		color := ""
		if p.cycles[i] != nil {
			color = " [color=red]"
		}
		fmt.Fprintf(&b, "\t%q%s;\n", item.Ref, color)
	}
	written := p.writtenEdges(items)
	for _, e := range written {
		p.draw(&b, items, e, false)
	}
	drawn := graphOf(len(items), written)
	for to, from := range p.before {
		for _, n := range from {
			if !drawn.Has(n, to) {
				p.draw(&b, items, edge{n, to, slices.Contains(p.refreshes[n], to)}, true)
			}
		}
	}
	b.WriteString("}")
	return b.String()
}

func (p *plan) draw(b *strings.Builder, items []resource.Item, e edge, automatic bool) {
	var style []string
	if automatic {
		style = append(style, "dashed")
	}
	if e.refresh {
		style = append(style, "bold")
	}
	color := "black"
	if p.cycles[e.from] != nil && slices.Equal(p.cycles[e.from], p.cycles[e.to]) {
		color = "red"
	}
	fmt.Fprintf(b, "\t%q -> %q [style=%q, color=%s];\n", items[e.from].Ref, items[e.to].Ref, strings.Join(append(style, "solid")[:max(len(style), 1)], ","), color)
}
