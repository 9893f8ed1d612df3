package expression

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/env"
	"github.com/google/cel-go/common/stdlib"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
)

// MaxWhen is the maximum length of a `when`, in bytes. The API has the same limit.
const MaxWhen = 4096

// A Condition is a compiled `when`. It is not safe for concurrent use.
type Condition struct {
	program    *program
	readsFacts bool
	readsNode  bool
}

// ReadsFacts reports whether the condition reads facts.
func (c *Condition) ReadsFacts() bool { return c.readsFacts }

// ReadsNode reports whether the condition reads the name, labels or annotations of the node.
func (c *Condition) ReadsNode() bool { return c.readsNode }

// Holds evaluates the condition at a cost of at most limit, but not more than [MaxCost]. It returns the cost also if it
// fails.
func (c *Condition) Holds(vars map[string]any, limit int) (holds bool, cost int, err error) {
	out, cost, err := c.program.run(vars, limit)
	if err != nil {
		return false, cost, err
	}
	b, ok := out.Value().(bool)
	if !ok {
		return false, cost, fmt.Errorf("it returns %s, but must return bool", out.Type().TypeName())
	}
	return b, cost, nil
}

// An Environment compiles conditions. The zero value is ready, and safe for concurrent use.
type Environment struct {
	once        sync.Once
	env         *cel.Env
	dispatcher  interpreter.Dispatcher
	interpreter interpreter.Interpreter
	err         error

	variables []cel.EnvOption // nil: those of conditions
}

func (e *Environment) init() error {
	e.once.Do(func() {
		if e.variables == nil {
			e.variables = []cel.EnvOption{
				cel.Variable("facts", cel.MapType(cel.StringType, cel.DynType)),
				cel.Variable("node", cel.MapType(cel.StringType, cel.DynType)),
			}
		}
		if e.env, e.err = newEnvironment(e.variables); e.err == nil {
			e.err = e.bind()
		}
	})
	return e.err
}

// bind prepares the common parts of all programs.
func (e *Environment) bind() error {
	e.dispatcher = interpreter.NewDispatcher()
	for _, declared := range e.env.Functions() {
		bindings, err := declared.Bindings()
		if err == nil {
			err = e.dispatcher.Add(bindings...)
		}
		if err != nil {
			return err
		}
	}
	adapter, provider := e.env.CELTypeAdapter(), e.env.CELTypeProvider()
	attributes := interpreter.NewAttributeFactory(e.env.Container, adapter, provider)
	e.interpreter = interpreter.NewInterpreter(e.dispatcher, e.env.Container, provider, adapter, attributes)
	return nil
}

func newEnvironment(variables []cel.EnvOption) (*cel.Env, error) {
	return cel.NewCustomEnv(append([]cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(&env.LibrarySubset{ExcludeFunctions: withTimeZone()})),
		cel.CrossTypeNumericComparisons(true), // facts are JSON: all numbers are doubles
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(MaxWhen),
		cel.ParserRecursionLimit(maxNesting),
		ext.Strings(ext.StringsMaxPrecision(100)),
	}, variables...)...)
}

// withTimeZone are functions that read the time zones of the machine, which differ from one to another.
func withTimeZone() []*env.Function {
	var all []*env.Function
	for _, f := range stdlib.Functions() {
		for _, o := range f.OverloadDecls() {
			if strings.HasSuffix(o.ID(), "_with_tz") {
				all = append(all, &env.Function{Name: f.Name(), Overloads: []*env.Overload{{ID: o.ID()}}})
			}
		}
	}
	return all
}

// Functions returns the sorted names of the functions of `when`, without operators.
func (e *Environment) Functions() ([]string, error) {
	err := e.init()
	var names []string
	for name := range e.env.Functions() {
		if _, bound := e.dispatcher.FindOverload(name); bound && !isOperator(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}

// Parse parses a `when` without checking names and types.
func (e *Environment) Parse(text string) (*cel.Ast, error) {
	if err := e.init(); err != nil {
		return nil, err
	}
	if len(text) > MaxWhen {
		return nil, fmt.Errorf("it is %d bytes long, and the limit is %d: select by labels, or split the resource", len(text), MaxWhen)
	}
	parsed, issues := e.env.Parse(text)
	return parsed, issuesError(issues)
}

// CompileWhen compiles a `when`, which must return a bool.
func (e *Environment) CompileWhen(text string) (*Condition, error) {
	checked, shape, err := e.check(text)
	if err != nil {
		return nil, err
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("it returns %s, but must return bool", t)
	}
	p, err := newProgram(e, checked.NativeRep())
	if err != nil {
		return nil, err
	}
	return &Condition{program: p, readsFacts: shape.readsFacts, readsNode: shape.readsNode}, nil
}

// check parses an expression, limits its shape, and checks its names and types.
func (e *Environment) check(text string) (*cel.Ast, *shape, error) {
	parsed, err := e.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	shape := &shape{}
	if err := shape.check(ast.NavigateAST(parsed.NativeRep()), 0, 0); err != nil {
		return nil, nil, err
	}
	checked, issues := e.env.Check(parsed)
	return checked, shape, issuesError(issues)
}

// issuesError puts the errors of CEL, which come with drawings, into one line; nil for none.
func issuesError(issues *cel.Issues) error {
	if issues.Err() == nil {
		return nil
	}
	var lines []string
	for _, e := range issues.Errors() {
		if e.Location.Line() < 1 { // about the whole expression
			lines = append(lines, e.Message)
			continue
		}
		lines = append(lines, fmt.Sprintf("line %d, column %d: %s", e.Location.Line(), e.Location.Column()+1, e.Message))
	}
	return errors.New(strings.Join(lines, "; "))
}
