package expression

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"text/template/parse"

	"github.com/DataDog/datadog-agent/pkg/template/text"
)

// The limits of a template.
const (
	MaxTemplate = 64 << 10  // of its text, in bytes
	MaxContent  = 384 << 10 // of its output, in bytes: the limit of the API for content

	maxNesting = 64 // of if, with, range and parentheses
)

// ErrTooLong is the error of a template whose output exceeds [MaxContent].
var ErrTooLong = fmt.Errorf("content is longer than %d KiB", MaxContent>>10)

// A Template is a parsed contentTemplate. It is safe for concurrent use.
type Template struct {
	parsed *parse.Tree // nil if it is empty
	tree   tree
}

const templateName = "contentTemplate"

var errNoDefinitions = errors.New("define, template and block are not available, as they can recurse: write the text where it is used, or assign it to a variable")

// ParseTemplate parses a contentTemplate.
func ParseTemplate(text string) (*Template, error) {
	if len(text) > MaxTemplate {
		return nil, fmt.Errorf("it is %d KiB long, and the limit is %d: use contentFrom for text that needs no template", len(text)>>10, MaxTemplate>>10)
	}
	parsed, err := parsed(text)
	if err != nil {
		return nil, err
	}
	t := &Template{parsed: parsed}
	if parsed == nil {
		return t, nil
	}
	t.tree.atRoot = true
	if err := t.tree.block(parsed.Root, 0); err != nil {
		return nil, err
	}
	return t, nil
}

// parsed parses a text; nil if that is empty.
func parsed(text string) (*parse.Tree, error) {
	r := renderers.Get().(*renderer)
	defer renderers.Put(r)
	own, err := r.functions.Clone() // without what the last text defined
	if err == nil {
		own, err = own.Parse(text)
	}
	switch {
	case err != nil:
		return nil, templateError(err)
	case len(own.Templates()) > 1:
		return nil, errNoDefinitions
	}
	return own.Tree, nil
}

// A renderer has the functions of templates, which take too much memory to have them in each. It renders one at a time.
type renderer struct {
	functions *template.Template // that has only these
	budget    budget             // that they charge
}

// renderers are those that nobody uses.
var renderers = sync.Pool{New: func() any {
	r := &renderer{}
	r.functions = template.New(templateName).Option("missingkey=error").Funcs(templateFunctions(&r.budget))
	return r
}}

// ReadsFacts reports whether the template reads facts.
func (t *Template) ReadsFacts() bool { return t.tree.readsFacts }

// ReadsNode reports whether the template reads the name, labels or annotations of the node.
func (t *Template) ReadsNode() bool { return t.tree.readsNode }

// Render evaluates the template at a cost of at most limit, but not more than [MaxCost]. It returns the cost also if it
// fails.
func (t *Template) Render(vars map[string]any, limit int) (text string, cost int, err error) {
	if t.parsed == nil {
		return "", 0, nil
	}
	r := renderers.Get().(*renderer)
	defer renderers.Put(r)
	r.budget.reset(limit)
	out := &output{budget: &r.budget}
	if err = r.budget.charge(t.tree.cost); err == nil {
		own := r.functions.New(templateName)
		own.Tree = t.parsed
		err = own.Execute(out, vars)
	}
	if err != nil {
		return "", r.budget.spent, templateError(err)
	}
	return out.text.String(), r.budget.spent, nil
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
