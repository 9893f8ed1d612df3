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
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/ext"
)

// MaxWhen is how long a `when` may be, in bytes: as long as the API takes it.
const MaxWhen = 4096

// A Condition is a compiled `when`. It is not safe for concurrent use.
type Condition struct {
	program cel.Program
	uses    Uses
	meter   *stepMeter
}

// An Environment compiles conditions. The zero value is ready, and safe for concurrent use.
type Environment struct {
	once sync.Once
	env  *cel.Env
	err  error
}

func (e *Environment) cel() (*cel.Env, error) {
	e.once.Do(func() { e.env, e.err = newEnvironment() })
	return e.env, e.err
}

func newEnvironment() (*cel.Env, error) {
	return cel.NewCustomEnv(
		cel.StdLib(cel.StdLibSubset(&env.LibrarySubset{ExcludeFunctions: withTimeZone()})),
		cel.Variable("facts", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("node", cel.MapType(cel.StringType, cel.DynType)),
		cel.CrossTypeNumericComparisons(true), // facts are JSON: all numbers are doubles
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(MaxWhen),
		cel.ParserRecursionLimit(maxNesting),
		ext.Strings(ext.StringsMaxPrecision(100)),
	)
}

// withTimeZone are functions that read the machine's time zones: they differ from one to another.
func withTimeZone() []*env.Function {
	var all []*env.Function
	for name, id := range map[string]string{
		overloads.TimeGetFullYear: overloads.TimestampToYearWithTz, overloads.TimeGetMonth: overloads.TimestampToMonthWithTz,
		overloads.TimeGetDayOfYear: overloads.TimestampToDayOfYearWithTz, overloads.TimeGetDayOfMonth: overloads.TimestampToDayOfMonthZeroBasedWithTz,
		overloads.TimeGetDate: overloads.TimestampToDayOfMonthOneBasedWithTz, overloads.TimeGetDayOfWeek: overloads.TimestampToDayOfWeekWithTz,
		overloads.TimeGetHours: overloads.TimestampToHoursWithTz, overloads.TimeGetMinutes: overloads.TimestampToMinutesWithTz,
		overloads.TimeGetSeconds: overloads.TimestampToSecondsWithTz, overloads.TimeGetMilliseconds: overloads.TimestampToMillisecondsWithTz,
	} {
		all = append(all, &env.Function{Name: name, Overloads: []*env.Overload{{ID: id}}})
	}
	return all
}

// Parse parses a `when` without a look at what its names mean.
func (e *Environment) Parse(text string) (*ast.AST, error) {
	_, parsed, err := e.parse(text)
	if err != nil {
		return nil, err
	}
	return parsed.NativeRep(), nil
}

// parse parses a `when` that is not too long, in the environment that it returns.
func (e *Environment) parse(text string) (*cel.Env, *cel.Ast, error) {
	env, err := e.cel()
	if err != nil {
		return nil, nil, err
	}
	if len(text) > MaxWhen {
		return nil, nil, fmt.Errorf("it is %d bytes long, and may be %d: select by labels, or split the resource", len(text), MaxWhen)
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, nil, whenIssues(issues)
	}
	return env, parsed, nil
}

// CompileWhen compiles a `when`, which must give a bool.
func (e *Environment) CompileWhen(text string) (*Condition, error) {
	env, parsed, err := e.parse(text)
	if err != nil {
		return nil, err
	}
	if err := new(shape).check(parsed.NativeRep().Expr(), 0, 0); err != nil {
		return nil, err
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, whenIssues(issues)
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("it gives %s, and must give a bool", t)
	}
	meter := &stepMeter{budget: &budget{}}
	program, err := env.Program(checked, cel.CustomDecoratorV2(meter.decorate))
	if err != nil {
		return nil, err
	}
	return &Condition{program: program, uses: conditionUses(checked.NativeRep().Expr()), meter: meter}, nil
}

// Uses returns what the condition reads. Never to be changed.
func (c *Condition) Uses() Uses { return c.uses }

// whenIssues puts CEL's drawing of an error into one line.
func whenIssues(issues *cel.Issues) error {
	var lines []string
	for _, e := range issues.Errors() {
		if e.Location.Line() < 1 { // it is of the whole
			lines = append(lines, e.Message)
			continue
		}
		lines = append(lines, fmt.Sprintf("line %d, column %d: %s", e.Location.Line(), e.Location.Column()+1, e.Message))
	}
	return errors.New(strings.Join(lines, "; "))
}

// Holds evaluates the condition in at most some time, in units. cost is what it took, also where it failed.
func (c *Condition) Holds(vars map[string]any, time int) (holds bool, cost Cost, err error) {
	c.meter.begin(time)
	out, _, err := c.program.Eval(vars)
	cost = c.meter.budget.spent
	if c.meter.exceeded != nil {
		return false, cost, c.meter.exceeded
	}
	if err != nil {
		return false, cost, err
	}
	b, ok := out.Value().(bool)
	if !ok {
		return false, cost, fmt.Errorf("it gives %s, and must give a bool", out.Type().TypeName())
	}
	return b, cost, nil
}

// The limits of what an expression consists of. Checking types takes long where they grow, and they do with each
// macro and each literal within another.
const (
	maxMacros   = 8     // all, exists, map and filter within, or after, each other
	maxLiterals = 6     // lists and maps within each other
	maxInferred = 8_000 // of the work of inferring types: each look at one while another is inferred
)

// A shape is how an expression is built: of what CEL has to infer the type, each time by a look at all inferred before.
type shape struct {
	generic  int // macros, lists, maps and calls
	elements int // of lists and maps
}

func (s *shape) count(e ast.Expr) {
	switch e.Kind() {
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

// check refuses what CEL would take long to check.
func (s *shape) check(e ast.Expr, macros, literals int) error {
	s.count(e)
	switch e.Kind() {
	case ast.ComprehensionKind:
		macros++
	case ast.ListKind, ast.MapKind:
		literals++
	default: // it has no more of a type than its operands
	}
	switch {
	case macros > maxMacros:
		return fmt.Errorf("all, exists, map and filter are nested more than %d deep: use several resources, or label nodes", maxMacros)
	case literals > maxLiterals:
		return fmt.Errorf("lists and maps are nested more than %d deep: compare their parts", maxLiterals)
	case s.generic*(s.generic+s.elements) > maxInferred:
		return errors.New("it has too many calls, macros and elements of lists: compare with a list by in, use several resources, or label nodes")
	case computesKeys(e):
		return errors.New("a key of a map is computed: write it out")
	}
	for _, child := range Children(e) {
		if err := s.check(child, macros, literals); err != nil {
			return err
		}
	}
	return nil
}

func computesKeys(e ast.Expr) bool {
	return e.Kind() == ast.MapKind && slices.ContainsFunc(e.AsMap().Entries(), func(e ast.EntryExpr) bool {
		return e.AsMapEntry().Key().Kind() != ast.LiteralKind
	})
}

// Children are the expressions directly within one.
func Children(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	case ast.CallKind:
		if call := e.AsCall(); call.IsMemberFunction() {
			return append([]ast.Expr{call.Target()}, call.Args()...)
		}
		return e.AsCall().Args()
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.MapKind:
		return entriesOf(e.AsMap().Entries())
	case ast.StructKind:
		return entriesOf(e.AsStruct().Fields())
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		return []ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()}
	default: // a name or a literal
		return nil
	}
}

func entriesOf(all []ast.EntryExpr) []ast.Expr {
	var out []ast.Expr
	for _, e := range all {
		if e.Kind() == ast.MapEntryKind {
			out = append(out, e.AsMapEntry().Key(), e.AsMapEntry().Value())
		} else {
			out = append(out, e.AsStructField().Value())
		}
	}
	return out
}
