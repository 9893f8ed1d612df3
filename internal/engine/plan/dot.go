package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
)

// Dot returns the graph of items and their relations in Graphviz's language. Relations that authors
// wrote are solid, refreshing ones bold and automatic ones dashed; cycles are red.
func Dot(items []resource.Item) string {
	p := New(items)
	var b strings.Builder
	b.WriteString("digraph resources {\n\tnode [shape=box];\n")
	for i, item := range items {
		color := ""
		if p.Cycles[i] != nil {
			color = " [color=red]"
		}
		fmt.Fprintf(&b, "\t%q%s;\n", item.Ref, color)
	}
	written, _ := writtenEdges(items)
	for _, e := range written {
		p.draw(&b, items, e, false)
	}
	drawn := graphOf(len(items), written)
	for to := range items {
		for _, n := range p.Graph.Before(to) {
			if !drawn.Has(n, to) {
				p.draw(&b, items, Edge{n, to, slices.Contains(p.Refreshes[n], to)}, true)
			}
		}
	}
	b.WriteString("}")
	return b.String()
}

func (p *Plan) draw(b *strings.Builder, items []resource.Item, e Edge, automatic bool) {
	var style []string
	if automatic {
		style = append(style, "dashed")
	}
	if e.Refresh {
		style = append(style, "bold")
	}
	color := "black"
	if p.Cycles[e.From] != nil && slices.Equal(p.Cycles[e.From], p.Cycles[e.To]) {
		color = "red"
	}
	fmt.Fprintf(b, "\t%q -> %q [style=%q, color=%s];\n", items[e.From].Ref, items[e.To].Ref, strings.Join(append(style, "solid")[:max(len(style), 1)], ","), color)
}
