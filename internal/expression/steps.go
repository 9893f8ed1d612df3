package expression

import (
	"fmt"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// A stepMeter has each step of a CEL program charge a budget. CEL's own cost limit is no bound: it is looked at when
// a call has been made, counts lists within lists by their length alone, and its bookkeeping takes a time that grows
// with the square of the steps.
type stepMeter struct {
	budget   *budget
	exceeded error
}

func (m *stepMeter) begin(time int) {
	m.budget.reset(time)
	m.exceeded = nil
}

// charge ends the evaluation where the budget does not suffice. An error would not: || and && go on after one.
func (m *stepMeter) charge(c Cost, err error) {
	if err == nil {
		err = m.budget.charge(c)
	}
	if err != nil {
		m.exceeded = err
		panic(interpreter.EvalCancelledError{Message: err.Error(), Cause: interpreter.CostLimitExceeded})
	}
}

// A step is an instruction that charges for itself. When it gives the last argument of a call it charges for the
// call as well, before that is made.
type step struct {
	interpreter.InterpretableV2
	meter *stepMeter
	cost  Cost
	last  ref.Val // that it came to; instructions are a tree, so no other evaluation is under way
	then  func()  // charges for the call that it is the last argument of; nil for none
	adds  bool    // it is a call of +
}

// Exec charges and evaluates.
func (s *step) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	s.meter.charge(s.cost, nil)
	s.last = s.InterpretableV2.Exec(frame)
	if s.adds {
		s.last = flat(s.last)
	}
	s.meter.charge(shallowCost(s.last), nil)
	if s.then != nil {
		s.then()
	}
	return s.last
}

// Eval is Exec without a frame.
func (s *step) Eval(a interpreter.Activation) ref.Val { return s.Exec(interpreter.AsFrame(a)) }

func (s *step) self() *step { return s }

// An attributeStep is a step that can be qualified further, by a field or an index.
type attributeStep struct {
	*step
	interpreter.InterpretableAttribute
}

// Exec charges and evaluates.
func (s *attributeStep) Exec(frame *interpreter.ExecutionFrame) ref.Val { return s.step.Exec(frame) }

// Eval is Exec without a frame.
func (s *attributeStep) Eval(a interpreter.Activation) ref.Val { return s.step.Eval(a) }

// ID is the attribute's.
func (s *attributeStep) ID() int64 { return s.InterpretableAttribute.ID() }

// AddQualifier has the step cost more.
func (s *attributeStep) AddQualifier(q interpreter.Qualifier) (interpreter.Attribute, error) {
	s.cost = s.cost.Add(stepCost)
	if index, ok := q.(*attributeStep); ok {
		s.cost = s.cost.Add(index.cost)
	}
	return s.InterpretableAttribute.AddQualifier(q)
}

// A constStep is a literal.
type constStep struct {
	*step
	interpreter.InterpretableConst
}

// Exec charges and evaluates.
func (s *constStep) Exec(frame *interpreter.ExecutionFrame) ref.Val { return s.step.Exec(frame) }

// Eval is Exec without a frame.
func (s *constStep) Eval(a interpreter.Activation) ref.Val { return s.step.Eval(a) }

// ID is the literal's.
func (s *constStep) ID() int64 { return s.InterpretableConst.ID() }

var stepCost = Cost{Time: 150, Bytes: 32}

// decorate makes a step of an instruction. Those within it are steps already.
func (m *stepMeter) decorate(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	if _, done := i.(interface{ self() *step }); done {
		return i, nil
	}
	s := &step{InterpretableV2: i, meter: m, cost: stepCost}
	switch i := i.(type) {
	case interpreter.InterpretableConst:
		return &constStep{s, i}, nil
	case interpreter.InterpretableAttribute:
		return &attributeStep{s, i}, nil
	case interpreter.InterpretableConstructor:
		s.cost = s.cost.Add(stepCost.times(len(i.InitVals())))
	case interpreter.InterpretableCall:
		s.adds = i.Function() == operators.Add
		return s, m.priceCall(i)
	}
	return s, nil
}

func (m *stepMeter) priceCall(call interpreter.InterpretableCall) error {
	if call.Function() == operators.NotStrictlyFalse || len(call.Args()) == 0 {
		return nil
	}
	price, ok := callPrices()[call.Function()]
	if !ok {
		return fmt.Errorf("function %s is not available", call.Function())
	}
	args := make([]*step, len(call.Args()))
	for i, a := range call.Args() {
		of, ok := a.(interface{ self() *step })
		if !ok {
			return fmt.Errorf("function %s has an argument that can't be metered", call.Function())
		}
		args[i] = of.self()
	}
	args[len(args)-1].then = func() {
		values := make([]ref.Val, len(args))
		for i, a := range args {
			if values[i] = a.last; types.IsUnknownOrError(a.last) {
				return // then the call is not made
			}
		}
		m.charge(price(values))
	}
	return nil
}

// shallowCost is what going through a list or map costs, that a value may be the range of. A list that a macro is
// making is no range yet.
func shallowCost(v ref.Val) Cost {
	if _, growing := v.(traits.MutableLister); growing {
		return Cost{}
	}
	switch v.(type) {
	case traits.Lister, traits.Mapper:
		return Cost{Time: 50, Bytes: 16}.times(sizeOf(v))
	}
	return Cost{}
}

// flat is a list without lists that it is put together of, through which each look at an element would go. Any other
// value is as it is.
func flat(v ref.Val) ref.Val {
	list, ok := v.(traits.Lister)
	if _, growing := v.(traits.MutableLister); !ok || growing {
		return v
	}
	elements := make([]ref.Val, 0, sizeOf(v))
	for i := list.Iterator(); i.HasNext() == types.True; {
		elements = append(elements, i.Next())
	}
	return types.NewRefValList(types.DefaultTypeAdapter, elements)
}

// sizeOf is how many entries a list or map has.
func sizeOf(v ref.Val) int {
	if s, ok := v.(traits.Sizer); ok {
		if n, ok := s.Size().(types.Int); ok {
			return int(n)
		}
	}
	return 0
}
