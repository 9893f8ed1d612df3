package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A picture has the groups of a module and the imports between them.
type picture struct {
	groups   []group
	packages map[string][]string          // by group, sorted
	imports  map[string]map[string]string // by the importing and the imported group, one example
}

// newPicture sorts packages into groups.
func newPicture(groups []group, imports map[string][]string) (picture, error) {
	p := picture{groups, map[string][]string{}, map[string]map[string]string{}}
	for _, pkg := range slices.Sorted(maps.Keys(imports)) {
		from := groupOf(groups, pkg)
		if from == "" {
			return p, fmt.Errorf("package %s is in no group: add its folder to a group in hack/architecture/groups.go", pkg)
		}
		p.packages[from] = append(p.packages[from], pkg)
		for _, imported := range imports[pkg] {
			to := groupOf(groups, imported)
			if to == from {
				continue
			}
			if p.imports[from] == nil {
				p.imports[from] = map[string]string{}
			}
			p.imports[from][to] = pkg + " imports " + imported
		}
	}
	return p, p.acyclic()
}

// acyclic returns an error if groups import each other: no reader can tell which of them to read first.
func (p picture) acyclic() error {
	for _, g := range p.groups {
		if way := p.way(g.id, g.id); way != nil {
			return fmt.Errorf("groups import each other: %s: move what they share into a package of its own", strings.Join(way, ", "))
		}
	}
	return nil
}

// way returns the imports that lead from a group to another one, at least one; nil if none do.
func (p picture) way(from, to string) []string {
	ways := map[string][]string{from: {}}
	for pending := []string{from}; len(pending) > 0; pending = pending[1:] {
		at := pending[0]
		for _, next := range slices.Sorted(maps.Keys(p.imports[at])) {
			way := append(slices.Clone(ways[at]), p.imports[at][next])
			if next == to {
				return way
			}
			if _, seen := ways[next]; !seen {
				ways[next] = way
				pending = append(pending, next)
			}
		}
	}
	return nil
}

// mermaid draws the picture, without arrows that others imply.
func (p picture) mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for _, g := range p.groups {
		if len(p.packages[g.id]) > 0 {
			fmt.Fprintf(&b, "  %s[\"<b>%s</b><br/>%s\"]\n", g.id, g.title, strings.Join(g.lines(p.packages[g.id]), "<br/>"))
		}
	}
	for _, g := range p.groups {
		for _, to := range slices.Sorted(maps.Keys(p.imports[g.id])) {
			if !p.implied(g.id, to) {
				fmt.Fprintf(&b, "  %s --> %s\n", g.id, to)
			}
		}
	}
	return b.String()
}

// implied reports whether another import of a group leads to a group, too.
func (p picture) implied(from, to string) bool {
	for other := range p.imports[from] {
		if other != to && p.way(other, to) != nil {
			return true
		}
	}
	return false
}

// lines lists packages, a line for each folder of the group: the folder, and below it the rest of their paths.
func (g group) lines(packages []string) (lines []string) {
	for _, folder := range g.folders {
		var below []string
		found := false
		for _, pkg := range packages {
			if pkg == folder {
				found = true
			} else if rest, in := strings.CutPrefix(pkg, folder+"/"); in {
				below = append(below, rest)
			}
		}
		switch {
		case len(below) > 0:
			lines = append(lines, folder+": "+wrap(below))
		case found:
			lines = append(lines, folder)
		}
	}
	return lines
}

// wrap joins names, about six on a line.
func wrap(names []string) string {
	var lines []string
	for line := range slices.Chunk(names, 6) {
		lines = append(lines, strings.Join(line, ", "))
	}
	return strings.Join(lines, ",<br/>")
}

// groupOf returns the group of a package; "" if it has none.
func groupOf(groups []group, pkg string) (id string) {
	longest := 0
	for _, g := range groups {
		for _, f := range g.folders {
			if (pkg == f || strings.HasPrefix(pkg, f+"/")) && len(f) > longest {
				id, longest = g.id, len(f)
			}
		}
	}
	return id
}
