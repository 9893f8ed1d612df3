package chart

import (
	"cmp"
	"fmt"
	"slices"
)

// An Edge says that one thing comes before another.
type Edge struct {
	From, To string
	Refresh  bool // a change of From refreshes To
}

// A Graph is a drawing of things in layers from left to right, each right of all that come before it.
type Graph struct {
	Width, Height int
	Boxes         []Box
	Lines         []Line
}

// A Box is a thing.
type Box struct {
	Name string
	X, Y int
}

// A Line is an edge.
type Line struct {
	Edge
	Path string // of an SVG path
}

// Sizes of the drawing.
const (
	BoxWidth  = 220
	BoxHeight = 26
	layerGap  = 60
	rowGap    = 10
)

// Draw returns the drawing of all things that have an edge. Things of a cycle are right of all others.
func Draw(edges []Edge) Graph {
	d := drawing{layer: map[string]int{}, before: map[string][]string{}}
	d.assign(edges)
	layers := d.layers()
	var g Graph
	at := map[string]Box{}
	for x, names := range layers {
		for y, name := range names {
			box := Box{name, x * (BoxWidth + layerGap), y * (BoxHeight + rowGap)}
			at[name] = box
			g.Boxes = append(g.Boxes, box)
			g.Width, g.Height = max(g.Width, box.X+BoxWidth), max(g.Height, box.Y+BoxHeight)
		}
	}
	for _, e := range edges {
		g.Lines = append(g.Lines, Line{e, curve(at[e.From], at[e.To])})
	}
	return g
}

// curve returns the path from the right side of a box to the left side of another.
func curve(from, to Box) string {
	x1, y1, x2, y2 := from.X+BoxWidth, from.Y+BoxHeight/2, to.X, to.Y+BoxHeight/2
	middle := (x1 + x2) / 2
	return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, middle, y1, middle, y2, x2, y2)
}

type drawing struct {
	layer  map[string]int
	before map[string][]string
}

// assign gives each thing its layer: the length of the longest way to it.
func (d *drawing) assign(edges []Edge) {
	after := map[string][]string{}
	for _, e := range edges {
		after[e.From] = append(after[e.From], e.To)
		d.before[e.To] = append(d.before[e.To], e.From)
		d.layer[e.From], d.layer[e.To] = 0, 0
	}
	missing := map[string]int{}
	var ready []string
	for name := range d.layer {
		if missing[name] = len(d.before[name]); missing[name] == 0 {
			ready = append(ready, name)
		}
	}
	last := 0
	for len(ready) > 0 {
		name := ready[0]
		ready = ready[1:]
		for _, next := range after[name] {
			d.layer[next] = max(d.layer[next], d.layer[name]+1)
			last = max(last, d.layer[next])
			if missing[next]--; missing[next] == 0 {
				ready = append(ready, next)
			}
		}
	}
	for name, n := range missing {
		if n > 0 {
			d.layer[name] = last + 1
		}
	}
}

// layers returns the things of each layer. To have few lines cross, each is as high as what comes before it on average.
func (d *drawing) layers() [][]string {
	var all [][]string
	for name, layer := range d.layer {
		for len(all) <= layer {
			all = append(all, nil)
		}
		all[layer] = append(all[layer], name)
	}
	row := map[string]int{}
	for _, names := range all {
		height := map[string]float64{}
		for _, name := range names {
			for _, b := range d.before[name] {
				height[name] += float64(row[b]) / float64(len(d.before[name]))
			}
		}
		slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(height[a], height[b]), cmp.Compare(a, b)) })
		for i, name := range names {
			row[name] = i
		}
	}
	return slices.DeleteFunc(all, func(names []string) bool { return len(names) == 0 })
}
