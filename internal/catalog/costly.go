package catalog

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// maxCompared is how much the costly functions of one expression may take, in bytes, more or
// less. It is well above what facts come to.
const maxCompared = 16 << 20

// costly lists functions of which CEL counts too little, or only after the fact: lists within
// lists are counted by their length alone, and what text becomes when it has been made.
func costly() []string {
	return []string{
		operators.Equals, operators.NotEquals, operators.In,
		"matches", "indexOf", "lastIndexOf", "replace", "join", "format", "strings.quote",
	}
}

// limited has a program charge a meter for what costly functions take, before they do.
func limited(env *cel.Env, m *meter) cel.ProgramOption {
	return cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok || !slices.Contains(costly(), call.Function()) {
			return i, nil
		}
		does, err := function(env, call.Function())
		if err != nil {
			return nil, err
		}
		return &costlyCall{call, does, m}, nil
	})
}

// A costlyCall is a call that is made if there is something left of what may be taken.
type costlyCall struct {
	interpreter.InterpretableCall
	does func(args []ref.Val) ref.Val
	left *meter
}

// Eval is Exec for those who have no frame.
func (c *costlyCall) Eval(a interpreter.Activation) ref.Val { return c.Exec(interpreter.AsFrame(a)) }

// Exec calls the function.
func (c *costlyCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	var args []ref.Val
	for _, a := range c.Args() {
		args = append(args, a.Exec(frame))
	}
	for _, a := range args {
		if types.IsUnknownOrError(a) {
			return a
		}
	}
	if err := c.left.charge(c.takes(args)); err != nil {
		return types.WrapErr(err)
	}
	return c.does(args)
}

// takes is what the arguments come to, and what is done with each of one for each of another.
func (c *costlyCall) takes(args []ref.Val) int {
	most := c.left.left
	total := 0
	for i, a := range args {
		if _, keyed := a.(traits.Mapper); keyed && i == 1 && c.Function() == operators.In {
			continue // it is looked up
		}
		total += weight(a, most-total)
	}
	text := func(i int) int { return weight(args[i], most) - each }
	switch c.Function() {
	case "matches", "indexOf", "lastIndexOf":
		total += text(0) * text(1)
	case "replace": // text, old, new
		total += (text(0) + 1) * text(2)
	case "join": // list, separator
		total += text(0) / each * text(len(args)-1) * (len(args) - 1)
	}
	return total
}

// each is what a value costs beside its text: looking at one takes as long as at so many
// bytes.
const each = 64

// weight is the size of a value, where what is in it twice counts twice. It stops looking
// beyond a limit.
func weight(v ref.Val, limit int) int {
	total := each
	switch v := v.(type) {
	case types.String:
		return total + len(v)
	case types.Bytes:
		return total + len(v)
	case traits.Lister:
		for i := v.Iterator(); i.HasNext() == types.True && total <= limit; {
			total += weight(i.Next(), limit-total)
		}
	case traits.Mapper:
		for i := v.Iterator(); i.HasNext() == types.True && total <= limit; {
			key := i.Next()
			total += weight(key, limit-total)
			total += weight(v.Get(key), limit-total)
		}
	}
	return total
}

// function is what a costly function does.
func function(env *cel.Env, name string) (func(args []ref.Val) ref.Val, error) {
	switch name {
	case operators.Equals:
		return func(args []ref.Val) ref.Val { return types.Equal(args[0], args[1]) }, nil
	case operators.NotEquals:
		return func(args []ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) }, nil
	case operators.In:
		return func(args []ref.Val) ref.Val { return contains(args[1], args[0]) }, nil
	}
	bindings, err := env.Functions()[name].Bindings()
	if err != nil {
		return nil, err
	}
	var of functions.Overload
	for _, b := range bindings {
		if b.Operator == name {
			of = *b
		}
	}
	return func(args []ref.Val) ref.Val { return invoke(name, of, args) }, nil
}

// contains goes through a list by its elements: one that was put together of many empty ones
// would be long about it.
func contains(in, value ref.Val) ref.Val {
	switch in := in.(type) {
	case traits.Lister:
		for i := in.Iterator(); i.HasNext() == types.True; {
			if types.Equal(i.Next(), value) == types.True {
				return types.True
			}
		}
		return types.False
	case traits.Container:
		return in.Contains(value)
	}
	return types.MaybeNoSuchOverloadErr(in)
}

func invoke(name string, of functions.Overload, args []ref.Val) ref.Val {
	switch {
	case of.OperandTrait != 0 && !args[0].Type().HasTrait(of.OperandTrait):
	case len(args) == 1 && of.Unary != nil:
		return of.Unary(args[0])
	case len(args) == 2 && of.Binary != nil:
		return of.Binary(args[0], args[1])
	case of.Function != nil:
		return of.Function(args...)
	}
	return types.NewErr("no such overload: %s", name)
}
