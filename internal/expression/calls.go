package expression

import (
	"slices"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// A callPricing is what a call of CEL costs by its arguments, told before it is made.
type callPricing func(args []ref.Val) (Cost, error)

// callPrices of all the functions and operators of `when`, but &&, ||, ?: and [], which are steps alone. A function
// that is not here is not available.
func callPrices() map[string]callPricing {
	all := map[string]callPricing{
		operators.Add: added,
		"matches":     func(a []ref.Val) (Cost, error) { return regexCost(textOf(a[1]), len(textOf(a[0]))) },
		"indexOf":     searched,
		"lastIndexOf": searched,
		"replace": func(a []ref.Val) (Cost, error) {
			return replaced(textOf(a[1]), len(textOf(a[2])), textOf(a[0])), nil
		},
		"join": func(a []ref.Val) (Cost, error) {
			cost, err := readBy(4, 8)(a[:1])
			return cost.Add(made(times(sizeOf(a[0]), len(textOf(a[len(a)-1]))))), err
		},
		"format": func(a []ref.Val) (Cost, error) {
			cost, err := readBy(10, 16)(a)
			return cost.Add(Cost{Time: 400, Bytes: 200}.times(len(textOf(a[0])))), err
		},
	}
	for _, name := range comparing() {
		all[name] = readBy(4, 4)
	}
	for _, name := range reading() {
		all[name] = readBy(8, 24)
	}
	return all
}

// comparing functions read their arguments, and make nothing of them.
func comparing() []string {
	return []string{
		operators.Equals, operators.NotEquals, operators.In, operators.OldIn, overloads.DeprecatedIn, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
		operators.LogicalNot, operators.Negate, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo,
		overloads.Size, overloads.TypeConvertType, overloads.TypeConvertDyn, overloads.TypeConvertBool,
		"contains", "startsWith", "endsWith",
	}
}

// reading functions make at most some times as much as they read.
func reading() []string {
	return []string{
		overloads.TypeConvertInt, overloads.TypeConvertUint, overloads.TypeConvertDouble, overloads.TypeConvertString,
		overloads.TypeConvertBytes, overloads.TypeConvertTimestamp, overloads.TypeConvertDuration,
		overloads.TimeGetFullYear, overloads.TimeGetMonth, overloads.TimeGetDayOfYear, overloads.TimeGetDayOfMonth,
		overloads.TimeGetDate, overloads.TimeGetDayOfWeek, overloads.TimeGetHours, overloads.TimeGetMinutes,
		overloads.TimeGetSeconds, overloads.TimeGetMilliseconds,
		"charAt", "lowerAscii", "upperAscii", "reverse", "split", "substring", "trim", "strings.quote",
	}
}

// WhenFunctions are the names of the functions of `when`, sorted, operators left out.
func WhenFunctions() []string {
	var names []string
	for name := range callPrices() {
		if name[0] != '_' && name[0] != '@' && name[0] != '!' && name[0] != '-' && name != "in" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// readBy is for what reads its arguments, at a time and at so much memory for each byte.
func readBy(time, bytes int) callPricing {
	return func(args []ref.Val) (Cost, error) {
		n, err := weighAll(args, MaxBytes/bytes)
		return stepCost.Add(Cost{Time: time, Bytes: bytes}.times(n)), err
	}
}

// added is for +, which copies, unless it is a macro's that adds to the list it is making.
func added(args []ref.Val) (Cost, error) {
	var entries int
	for i, a := range args {
		if _, growing := a.(traits.MutableLister); growing && i == 0 {
			continue
		}
		switch a := a.(type) {
		case traits.Lister:
			entries += sizeOf(a)
		default:
			return readBy(2, 1)(args)
		}
	}
	return stepCost.Add(Cost{Time: 60, Bytes: 64}.times(entries)), nil
}

// searched is for a search that starts over at each place.
func searched(args []ref.Val) (Cost, error) {
	cost, err := readBy(8, 24)(args)
	return cost.Add(Cost{Time: 2}.times(times(len(textOf(args[0])), len(textOf(args[1]))))), err
}

func textOf(v ref.Val) string {
	s, _ := v.(types.String)
	return string(s)
}

// weighAll is weigh for values of CEL.
func weighAll(values []ref.Val, limit int) (int, error) {
	s := scale{limit: limit}
	for _, v := range values {
		if err := s.addVal(v, 0); err != nil {
			return 0, err
		}
	}
	return s.total, nil
}

func (s *scale) addVal(v ref.Val, depth int) error {
	if depth > maxDepth {
		return errDeep
	}
	s.total += valueWeighs
	switch v := v.(type) {
	case types.String:
		s.total += len(v)
	case types.Bytes:
		s.total += len(v)
	case traits.Lister:
		return s.addVals(v, depth+1, nil)
	case traits.Mapper:
		return s.addVals(v, depth+1, v)
	}
	return nil
}

// addVals adds elements, or keys and the values that a map has of them.
func (s *scale) addVals(of traits.Iterable, depth int, m traits.Mapper) error {
	for i := of.Iterator(); i.HasNext() == types.True && !s.full(); {
		v := i.Next()
		err := s.addVal(v, depth)
		if m != nil && err == nil {
			err = s.addVal(m.Get(v), depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
