package expression

import (
	"fmt"

	"github.com/google/cel-go/common/ast"
	functiondecl "github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// call calls a function or operator with arguments that are not errors.
func (p *program) call(name string, args []ref.Val) ref.Val {
	switch name {
	case operators.Equals:
		return types.Equal(args[0], args[1])
	case operators.NotEquals:
		return types.Bool(types.Equal(args[0], args[1]) != types.True)
	case operators.Add:
		if left, right, lists := listsOf(args); lists {
			return joined(left, right)
		}
	}
	if f, ok := p.functions.FindOverload(name); ok && (f.OperandTrait == 0 || args[0].Type().HasTrait(f.OperandTrait)) {
		return invoke(f, args)
	}
	return types.NewErr("no such overload: %s", name)
}

func invoke(f *functiondecl.Overload, args []ref.Val) ref.Val {
	switch {
	case len(args) == 1 && f.Unary != nil:
		return f.Unary(args[0])
	case len(args) == 2 && f.Binary != nil:
		return f.Binary(args[0], args[1])
	case f.Function != nil:
		return f.Function(args...)
	}
	return types.NewErr("no such overload")
}

// A program is a CEL program that charges a budget for each instruction, and for each call before it is made. The cost
// limit of CEL itself does not bound an evaluation: it applies after a call was made, and counts a list within a list as
// one.
type program struct {
	budget
	functions interpreter.Dispatcher
	planned   interpreter.InterpretableV2
	exceeded  error
}

func newProgram(e *Environment, checked *ast.AST) (*program, error) {
	p := &program{functions: e.dispatcher}
	var err error
	p.planned, err = e.interpreter.NewInterpretable(checked,
		interpreter.CustomDecoratorV2(p.chargeCalls),
		interpreter.EvalStateObserver(interpreter.EvalStateFactory(func() interpreter.EvalState { return observer{program: p} })))
	return p, err
}

// stop ends an evaluation. An error value would not: || and && continue after one.
type stop struct{}

func (p *program) spend(cost int, err error) {
	if err == nil {
		err = p.charge(cost)
	}
	if err != nil {
		p.exceeded = err
		panic(stop{})
	}
}

// run evaluates at a cost of at most limit.
func (p *program) run(vars map[string]any, limit int) (out ref.Val, cost int, err error) {
	p.reset(limit)
	defer func() {
		cost = p.spent
		switch r := recover(); r {
		case nil:
		case stop{}:
			err = p.exceeded
		default:
			err = fmt.Errorf("internal error: %v", r)
		}
	}()
	frame, err := interpreter.NewExecutionFrame(vars)
	if err != nil {
		return nil, 0, err
	}
	defer frame.Close()
	out = p.planned.Exec(frame)
	if failed, ok := out.(*types.Err); ok {
		err = failed
	}
	return out, 0, err
}

// An observer gets the result of each instruction.
type observer struct {
	interpreter.EvalState // nil: nothing is recorded
	*program
}

// SetValue charges for an instruction, and for a list or map, because it may be iterated over.
func (o observer) SetValue(_ int64, v ref.Val) {
	if _, growing := v.(traits.MutableLister); growing { // that a macro is making
		o.spend(instructionCost, nil)
		return
	}
	switch v.(type) {
	case traits.Lister, traits.Mapper:
		o.spend(instructionCost+80*length(v), nil)
	default:
		o.spend(instructionCost, nil)
	}
}

const instructionCost = 200

// chargeCalls replaces a call by one that charges for its arguments.
func (p *program) chargeCalls(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok || call.Function() == operators.NotStrictlyFalse || len(call.Args()) == 0 {
		return i, nil
	}
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
		p.spend(callCost(call.Function(), args))
		return p.call(call.Function(), args)
	}), nil
}
