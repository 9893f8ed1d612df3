// Package layers checks the imports between the packages of this module against its layers.
//
// layers.txt is the table. Paths of packages are relative to the module.
package layers

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:embed layers.txt
var table string

// A Layer is a set of packages, as patterns such as "internal/host/...".
type Layer struct {
	Name     string
	Patterns []string
}

// A Table lists layers, the highest first.
type Table []Layer

// Default returns the table of this module.
func Default() Table { return Parse(table) }

// Parse reads a table: a line for each layer, its name and its patterns. Lines that begin with # are
// comments.
func Parse(text string) Table {
	var t Table
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 && !strings.HasPrefix(line, "#") {
			t = append(t, Layer{Name: fields[0], Patterns: fields[1:]})
		}
	}
	return t
}

// find returns the index of a package's layer, or -1 if no pattern matches it.
func (t Table) find(pkg string) int {
	found, longest := -1, -1
	for i, l := range t {
		for _, p := range l.Patterns {
			if matches(p, pkg) && len(p) > longest {
				found, longest = i, len(p)
			}
		}
	}
	return found
}

func matches(pattern, pkg string) bool {
	dir, all := strings.CutSuffix(pattern, "/...")
	return pkg == dir || all && strings.HasPrefix(pkg, dir+"/")
}

// Problems lists the packages without a layer and the imports that lead to a higher layer. imports has
// every package of the module, with the packages of the module that it imports.
func (t Table) Problems(imports map[string][]string) []string {
	var all []string
	for _, pkg := range slices.Sorted(maps.Keys(imports)) {
		from := t.find(pkg)
		if from < 0 {
			all = append(all, fmt.Sprintf("package %s is in no layer: add it to hack/structure/layers/layers.txt", pkg))
			continue
		}
		for _, imported := range imports[pkg] {
			if to := t.find(imported); to >= 0 && to < from {
				all = append(all, fmt.Sprintf("package %s of layer %s imports %s of the higher layer %s: move what it needs down, or pass it in",
					pkg, t[from].Name, imported, t[to].Name))
			}
		}
	}
	return all
}

// Cycles lists the sets of top folders whose packages import each other in a cycle. Below internal, each
// folder counts as a top folder.
func Cycles(imports map[string][]string) [][]string {
	reaches := reachable(folders(imports))
	var cycles [][]string
	done := map[string]bool{}
	for _, a := range slices.Sorted(maps.Keys(reaches)) {
		cycle := []string{a}
		for _, b := range slices.Sorted(maps.Keys(reaches[a])) {
			if a != b && reaches[b][a] {
				cycle = append(cycle, b)
			}
		}
		if len(cycle) > 1 && !done[a] {
			cycles = append(cycles, cycle)
		}
		for _, f := range cycle {
			done[f] = true
		}
	}
	return cycles
}

// folders returns the imports between different top folders.
func folders(imports map[string][]string) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for pkg, imported := range imports {
		from := folder(pkg)
		if all[from] == nil {
			all[from] = map[string]bool{}
		}
		for _, i := range imported {
			if to := folder(i); to != from {
				all[from][to] = true
			}
		}
	}
	return all
}

func folder(pkg string) string {
	parts := strings.Split(pkg, "/")
	if parts[0] == "internal" && len(parts) > 1 {
		return "internal/" + parts[1]
	}
	return parts[0]
}

// reachable returns the transitive closure of a relation.
func reachable(direct map[string]map[string]bool) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	var visit func(from, at string)
	visit = func(from, at string) {
		for next := range direct[at] {
			if !all[from][next] {
				all[from][next] = true
				visit(from, next)
			}
		}
	}
	for f := range direct {
		all[f] = map[string]bool{}
		visit(f, f)
	}
	return all
}
