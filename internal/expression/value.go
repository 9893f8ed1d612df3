package expression

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// MaxValue limits a [Value], in bytes as it is written out.
const MaxValue = 64 << 10

// ForAttributes returns an environment that compiles expressions over `name`, a string, and `self`, an object of JSON.
// Safe for concurrent use.
func ForAttributes() *Environment {
	return &Environment{variables: []cel.EnvOption{
		cel.Variable("name", cel.StringType),
		cel.Variable("self", cel.MapType(cel.StringType, cel.DynType)),
	}}
}

// A Value is a compiled expression that returns JSON. It is not safe for concurrent use.
type Value struct{ program *program }

// CompileValue compiles an expression. kinds are the types that its value may have, in the terms of JSON schemas; none allow all. The
// error says so if it is known to have another one.
func (e *Environment) CompileValue(text string, kinds ...string) (*Value, error) {
	checked, _, err := e.check(text)
	if err != nil {
		return nil, err
	}
	is := kindOf(checked.OutputType())
	fits := is == "" || len(kinds) == 0 || slices.Contains(kinds, is) || is == "integer" && slices.Contains(kinds, "number")
	if !fits {
		return nil, fmt.Errorf("it returns %s, but must return %s", is, strings.Join(kinds, " or "))
	}
	p, err := newProgram(e, checked.NativeRep())
	if err != nil {
		return nil, err
	}
	return &Value{p}, nil
}

// kindOf returns a type in the terms of JSON schemas; "" if it is only known for a value.
func kindOf(t *cel.Type) string {
	switch t.Kind() {
	case types.BoolKind:
		return "boolean"
	case types.IntKind, types.UintKind:
		return "integer"
	case types.DoubleKind:
		return "number"
	case types.StringKind:
		return "string"
	case types.ListKind:
		return "array"
	case types.MapKind:
		return "object"
	case types.DynKind, types.AnyKind, types.NullTypeKind:
		return ""
	default:
		return t.String()
	}
}

// Evaluate returns the value at a cost of at most limit, but not more than [MaxCost]: nil, bool, int64, float64, string,
// []any or map[string]any. It returns the cost also if it fails.
func (v *Value) Evaluate(vars map[string]any, limit int) (value any, cost int, err error) {
	out, cost, err := v.program.run(vars, limit)
	if err != nil {
		return nil, cost, err
	}
	size, err := sizeOf(MaxValue, reflect.ValueOf(out))
	if err == nil && size > MaxValue {
		err = fmt.Errorf("it returns more than %d KiB", MaxValue>>10)
	}
	if err == nil {
		value, err = jsonOf(out)
	}
	return value, cost, err
}

// jsonOf converts a value of CEL.
func jsonOf(v ref.Val) (any, error) {
	switch v := v.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int, types.Uint, types.Double:
		return numberOf(v)
	case types.String:
		return string(v), nil
	case traits.Mapper:
		return objectOf(v)
	case traits.Lister:
		return listOf(v)
	}
	return nil, fmt.Errorf("it returns %s, which JSON does not have", v.Type().TypeName())
}

func numberOf(v ref.Val) (any, error) {
	switch v := v.Value().(type) {
	case int64:
		return v, nil
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v), nil
		}
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v, nil
		}
	}
	return nil, errors.New("it returns a number that has no place in JSON, or more than 64 bits")
}

func listOf(v traits.Lister) (any, error) {
	all := []any{}
	for i := v.Iterator(); i.HasNext() == types.True; {
		element, err := jsonOf(i.Next())
		if err != nil {
			return nil, err
		}
		all = append(all, element)
	}
	return all, nil
}

func objectOf(v traits.Mapper) (any, error) {
	all := map[string]any{}
	for i := v.Iterator(); i.HasNext() == types.True; {
		key := i.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("it returns an object with a key of type %s: use strings", key.Type().TypeName())
		}
		value, err := jsonOf(v.Get(key))
		if err != nil {
			return nil, err
		}
		all[string(name)] = value
	}
	return all, nil
}
