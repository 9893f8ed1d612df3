package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
)

// costLimit ends an expression that would keep the manager busy. It is the limit that
// an API server has for one of its own.
const costLimit = 1_000_000

// A condition is a compiled `when`.
type condition struct {
	text      string
	program   cel.Program
	usesFacts bool
	work      *meter // of one evaluation after the other
}

func whenEnvironment() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("facts", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("node", cel.MapType(cel.StringType, cel.DynType)),
		cel.CrossTypeNumericComparisons(true), // facts are JSON: all numbers are doubles
		cel.DefaultUTCTimeZone(true),
		ext.Strings(),
	)
}

func compileWhen(environment func() (*cel.Env, error), text string) (*condition, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, whenIssues(issues)
	}
	if t := ast.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("it gives %s, and must give a bool", t)
	}
	work := &meter{}
	program, err := env.Program(ast, cel.CostLimit(costLimit), cel.EvalOptions(cel.OptOptimize), limited(env, work))
	if err != nil {
		return nil, err
	}
	c := &condition{text: text, program: program, work: work}
	for _, ref := range ast.NativeRep().ReferenceMap() {
		c.usesFacts = c.usesFacts || ref.Name == "facts"
	}
	return c, nil
}

// whenIssues puts CEL's drawing of an error into one line.
func whenIssues(issues *cel.Issues) error {
	var lines []string
	for _, e := range issues.Errors() {
		lines = append(lines, fmt.Sprintf("line %d, column %d: %s", e.Location.Line(), e.Location.Column()+1, e.Message))
	}
	return errors.New(strings.Join(lines, "; "))
}

func (c *condition) holds(n *subject) (bool, error) {
	c.work.left = maxCompared
	out, _, err := c.program.Eval(n.variables())
	if err != nil {
		return false, err
	}
	b, ok := out.Value().(bool)
	if !ok {
		return false, fmt.Errorf("it gives %s, and must give a bool", out.Type().TypeName())
	}
	return b, nil
}
