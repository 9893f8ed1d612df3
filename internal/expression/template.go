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
	MaxContent  = 384 << 10 // of its output, in bytes: the limit of the API for content

	maxNesting = 64 // of if, with, range and parentheses
)

// ErrTooLong is the error of a template whose output exceeds [MaxContent].
var ErrTooLong = fmt.Errorf("content is longer than %d KiB", MaxContent>>10)

// A Template is a parsed contentTemplate. It is not safe for concurrent use.
type Template struct {
	parsed *template.Template
	tree   tree
	budget *budget
}

const templateName = "contentTemplate"

var errNoDefinitions = errors.New("define, template and block are not available, as they can recurse: write the text where it is used, or assign it to a variable")

// ParseTemplate parses a contentTemplate.
func ParseTemplate(text string) (*Template, error) {
	if len(text) > MaxTemplate {
		return nil, fmt.Errorf("it is %d KiB long, and the limit is %d: use contentFrom for text that needs no template", len(text)>>10, MaxTemplate>>10)
	}
	t := &Template{budget: &budget{}}
	var err error
	t.parsed, err = template.New(templateName).Option("missingkey=error").Funcs(templateFunctions(t.budget)).Parse(text)
	if err != nil {
		return nil, templateError(err)
	}
	if len(t.parsed.Templates()) > 1 {
		return nil, errNoDefinitions
	}
	if t.parsed.Tree == nil { // empty
		return t, nil
	}
	t.tree.atRoot = true
	if err := t.tree.block(t.parsed.Root, 0); err != nil {
		return nil, err
	}
	return t, nil
}

// ReadsFacts reports whether the template reads facts.
func (t *Template) ReadsFacts() bool { return t.tree.readsFacts }

// Render evaluates the template at a cost of at most limit, but not more than [MaxCost]. It returns the cost also if it
// fails.
func (t *Template) Render(vars map[string]any, limit int) (text string, cost int, err error) {
	t.budget.reset(limit)
	if t.parsed.Tree == nil {
		return "", 0, nil
	}
	out := &output{budget: t.budget}
	if err = t.budget.charge(t.tree.cost); err == nil {
		err = t.parsed.Execute(out, vars)
	}
	if err != nil {
		return "", t.budget.spent, templateError(err)
	}
	return out.text.String(), t.budget.spent, nil
}

// templateError removes the name of the template, so that the line comes first.
func templateError(err error) error {
	for _, limit := range []error{ErrTooLong, ErrCutOff, errDeep, ErrTooCostly} {
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

// output is the output of a template.
type output struct {
	text   strings.Builder
	budget *budget
}

// Write charges for the text, which will be encoded and hashed.
func (o *output) Write(p []byte) (int, error) {
	if o.text.Len()+len(p) > MaxContent {
		return 0, ErrTooLong
	}
	if err := o.budget.charge(26 * len(p)); err != nil {
		return 0, err
	}
	return o.text.Write(p)
}
