package expression

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// The limits of the shape of an expression. CEL infers types by looking at all types that it inferred before, and types
// grow with each macro and literal within another, so checking an expression could take long.
const (
	maxMacros   = 8     // all, exists, map and filter within or after each other
	maxLiterals = 6     // lists and maps within each other
	maxInferred = 8_000 // steps of type inference
)

// A shape counts the parts of an expression whose types are inferred.
type shape struct {
	generic    int // macros, lists, maps and calls
	elements   int // of lists and maps
	readsFacts bool
	readsNode  bool
}

// check rejects an expression whose types would take long to infer.
func (s *shape) check(e ast.NavigableExpr, macros, literals int) error {
	s.count(e)
	switch e.Kind() {
	case ast.ComprehensionKind:
		macros++
	case ast.ListKind, ast.MapKind:
		literals++
	default: // its type is no larger than those of its operands
	}
	switch {
	case macros > maxMacros:
		return fmt.Errorf("all, exists, map and filter are nested more than %d deep: use several resources, or label nodes", maxMacros)
	case literals > maxLiterals:
		return fmt.Errorf("lists and maps are nested more than %d deep: compare their parts", maxLiterals)
	case s.generic*(s.generic+s.elements) > maxInferred:
		return errors.New("it has too many calls, macros and elements of lists: compare with a list by in, use several resources, or label nodes")
	case hasComputedKey(e):
		return errors.New("a key of a map is computed: write it out")
	}
	for _, child := range e.Children() {
		if err := s.check(child, macros, literals); err != nil {
			return err
		}
	}
	return nil
}

func (s *shape) count(e ast.Expr) {
	switch e.Kind() {
	case ast.IdentKind:
		name := strings.TrimPrefix(e.AsIdent(), ".")
		s.readsFacts, s.readsNode = s.readsFacts || name == "facts", s.readsNode || name == "node"
	case ast.ComprehensionKind:
		s.generic++
	case ast.CallKind:
		if !slices.Contains([]string{operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.NotStrictlyFalse}, e.AsCall().FunctionName()) {
			s.generic++
		}
	case ast.ListKind:
		s.generic++
		s.elements += e.AsList().Size()
	case ast.MapKind:
		s.generic++
		s.elements += 2 * e.AsMap().Size()
	default: // its type is known
	}
}

func hasComputedKey(e ast.Expr) bool {
	return e.Kind() == ast.MapKind && slices.ContainsFunc(e.AsMap().Entries(), func(e ast.EntryExpr) bool {
		return e.AsMapEntry().Key().Kind() != ast.LiteralKind
	})
}
