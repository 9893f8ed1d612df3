package expression

import (
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// callCost returns the cost of a call of CEL, known before the call is made. Nearly all functions take time and memory
// that are linear in their arguments.
func callCost(name string, args []ref.Val) (int, error) {
	if name == operators.Add {
		if left, right, lists := listsOf(args); lists {
			return times(190, length(left)+length(right)), nil
		}
	}
	perByte := 50
	switch {
	case isOperator(name) || slices.Contains([]string{"size", "contains", "startsWith", "endsWith"}, name): // they make nothing
		perByte = 12
	case name == "split":
		perByte = 100
	}
	values := make([]reflect.Value, len(args))
	for i, a := range args {
		values[i] = reflect.ValueOf(a)
	}
	size, err := sizeOf(MaxCost/perByte, values...)
	if err != nil {
		return 0, err
	}
	more, err := superlinearCost(name, args)
	return times(perByte, size) + more, err
}

func isOperator(name string) bool { return strings.ContainsAny(name[:1], "_@!-") || name == "in" }

// superlinearCost returns the cost of functions whose time or result can be larger than their arguments.
func superlinearCost(name string, args []ref.Val) (int, error) {
	switch first, last := textOf(args[0]), textOf(args[len(args)-1]); name {
	case "matches":
		return matchCost(last, len(first))
	case "indexOf", "lastIndexOf": // the search starts over at each place
		return times(2*len(first), len(textOf(args[1]))), nil
	case "replace":
		return replaceCost(textOf(args[1]), len(textOf(args[2])), first), nil
	case "join":
		return textCost(times(length(args[0]), len(last))), nil
	case "format": // each verb may write 100 digits
		return times(800, len(first)), nil
	}
	return 0, nil
}

// joined returns a copy of two lists. CEL would chain them, and go through the chain at each access.
func joined(left, right traits.Lister) ref.Val {
	elements := make([]ref.Val, 0, length(left)+length(right))
	for _, list := range []traits.Lister{left, right} {
		for i := list.Iterator(); i.HasNext() == types.True; {
			elements = append(elements, i.Next())
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, elements)
}

// listsOf returns two lists, unless the first is one that a macro is making.
func listsOf(args []ref.Val) (left, right traits.Lister, ok bool) {
	if _, growing := args[0].(traits.MutableLister); growing {
		return nil, nil, false
	}
	left, first := args[0].(traits.Lister)
	right, second := args[1].(traits.Lister)
	return left, right, first && second
}

func textOf(v ref.Val) string {
	s, _ := v.(types.String)
	return string(s)
}

// length returns the number of entries of a list or map.
func length(v ref.Val) int {
	if s, ok := v.(traits.Sizer); ok {
		if n, ok := s.Size().(types.Int); ok {
			return int(n)
		}
	}
	return 0
}

// textCost returns the cost of making text of some bytes.
func textCost(bytes int) int { return 1800 + times(18, bytes) }

// replaceCost returns the cost of replacing a text by another of some length.
func replaceCost(old string, length int, in string) int {
	n := strings.Count(in, old)
	return textCost(2*len(in) + len(old) + times(n, length))
}
