package expression

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
)

// The limits of a template.
const (
	MaxTemplate = 64 << 10  // of its text, in bytes
	MaxContent  = 384 << 10 // of what it makes, in bytes: as much as the API takes as content

	maxNesting   = 64     // of if, with, range and parentheses
	maxNodes     = 20_000 // of its parse tree
	maxVariables = 256    // that it declares
)

// ErrTooLong is the error of a template that makes more than [MaxContent].
var ErrTooLong = fmt.Errorf("content is longer than %d KiB", MaxContent>>10)

// A Template is a parsed contentTemplate. It is not safe for concurrent use.
type Template struct {
	parsed *template.Template
	blocks map[*byte]Cost
	uses   Uses
	budget *budget
}

// ParseTemplate parses a contentTemplate.
func ParseTemplate(text string) (*Template, error) {
	if len(text) > MaxTemplate {
		return nil, fmt.Errorf("it is %d KiB long, and may be %d: let contentFrom bring text that needs no template", len(text)>>10, MaxTemplate>>10)
	}
	b := &budget{}
	parsed, err := template.New(templateName).Option("missingkey=error").Funcs(templateFunctions(b)).Parse(text)
	if err != nil {
		return nil, templateError(err)
	}
	if len(parsed.Templates()) > 1 {
		return nil, errNoDefinitions
	}
	t := &Template{parsed: parsed, budget: b}
	if parsed.Tree == nil {
		return t, nil
	}
	if t.blocks, err = meterTree(parsed.Root); err != nil {
		return nil, err
	}
	t.uses = templateUses(parsed.Root, true)
	return t, nil
}

// Uses returns what the template reads. Never to be changed.
func (t *Template) Uses() Uses { return t.uses }

const templateName = "contentTemplate"

var errNoDefinitions = errors.New("define, template and block are not available, as they can recurse: write the text where it is used, or assign it to a variable")

// Render evaluates the template in at most some time, in units. cost is what it took, also where it failed.
func (t *Template) Render(vars map[string]any, time int) (text string, cost Cost, err error) {
	t.budget.reset(time)
	if t.parsed.Tree == nil {
		return "", Cost{}, nil
	}
	out := &output{budget: t.budget, blocks: t.blocks}
	if err := t.parsed.Execute(out, vars); err != nil {
		return "", t.budget.spent, templateError(err)
	}
	return out.text.String(), t.budget.spent, nil
}

// templateError begins with the line: the template's name says nothing here.
func templateError(err error) error {
	for _, limit := range []error{ErrTooLong, ErrCutOff, errTime, errBytes, errDeep} {
		if errors.Is(err, limit) {
			return limit
		}
	}
	text := strings.TrimPrefix(err.Error(), "template: "+templateName+":")
	if text == err.Error() {
		return err
	}
	return fmt.Errorf("line %s", text)
}

// output is what a template writes, and where it charges for its blocks.
type output struct {
	text   strings.Builder
	budget *budget
	blocks map[*byte]Cost
}

// Write appends text, which will be encoded and hashed, or charges for a block when it is given the block's mark.
func (o *output) Write(p []byte) (int, error) {
	if len(p) == 1 {
		if cost, ok := o.blocks[&p[0]]; ok {
			return 1, o.budget.charge(cost)
		}
	}
	if o.text.Len()+len(p) > MaxContent {
		return 0, ErrTooLong
	}
	if err := o.budget.charge(Cost{Time: 20 * len(p), Bytes: 3 * len(p)}); err != nil {
		return 0, err
	}
	return o.text.Write(p)
}
