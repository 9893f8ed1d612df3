// Package files measures how the files of a package refer to each other.
//
// File A refers to file B if A names a function, method, type, variable or constant that B declares at
// package level. In a package with one idea per file the references run one way: there is an order in
// which each file refers only to files below it. [Measure] finds an order with few exceptions.
package files

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"
)

// Mode is what [packages.Load] must provide.
const Mode = packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports

// A Reference is a pair of files: From names a definition in To.
type Reference struct{ From, To string }

// Figures describe the files of one package. Tests and generated files do not count.
type Figures struct {
	Files, Lines int
	References   []Reference
	BackUp       []Reference // the references that run back up in the best order found
}

// Measure returns the figures of a package that was loaded with [Mode].
func Measure(pkg *packages.Package) Figures {
	names, lines := sources(pkg)
	refs := references(pkg, names)
	order := Order(names, refs)
	backUp := slices.DeleteFunc(slices.Clone(refs), func(r Reference) bool {
		return slices.Index(order, r.From) < slices.Index(order, r.To)
	})
	return Figures{Files: len(names), Lines: lines, References: refs, BackUp: backUp}
}

// sources returns the names of the files that count, and the number of their lines.
func sources(pkg *packages.Package) (names []string, lines int) {
	for _, f := range pkg.Syntax {
		if ast.IsGenerated(f) {
			continue
		}
		file := pkg.Fset.File(f.FileStart)
		names = append(names, filepath.Base(file.Name()))
		lines += file.LineCount()
	}
	slices.Sort(names)
	return names, lines
}

// references returns the references between the named files, sorted.
func references(pkg *packages.Package, names []string) []Reference {
	seen := map[Reference]bool{}
	for id, used := range pkg.TypesInfo.Uses {
		r := Reference{fileOf(pkg, id.Pos()), fileOf(pkg, used.Pos())}
		counts := slices.Contains(names, r.From) && slices.Contains(names, r.To)
		if used.Pkg() == pkg.Types && topLevel(used) && counts && r.From != r.To {
			seen[r] = true
		}
	}
	refs := make([]Reference, 0, len(seen))
	for r := range seen {
		refs = append(refs, r)
	}
	slices.SortFunc(refs, func(a, b Reference) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return refs
}

func fileOf(pkg *packages.Package, pos token.Pos) string {
	return filepath.Base(pkg.Fset.Position(pos).Filename)
}

// topLevel reports whether an object is declared at package level. Methods of interfaces are not: they
// are part of their type.
func topLevel(o types.Object) bool {
	if f, ok := o.(*types.Func); ok {
		recv := f.Signature().Recv()
		return recv == nil || !types.IsInterface(recv.Type())
	}
	return o.Parent() == o.Pkg().Scope()
}
