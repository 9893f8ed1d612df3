package catalog

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"
)

// maxContent is how long rendered content may be, in bytes: as long as the API lets a
// written one be.
const maxContent = 384 << 10

// maxSteps is how often a template may write or loop. It ends one that would never
// end, or not before the manager's lease does.
const maxSteps = 1_000_000

var (
	errTooLong = errors.New("content is longer than 384 KiB")
	errTooSlow = errors.New("it loops more than a million times")
)

// A contentTemplate is a parsed contentTemplate.
type contentTemplate struct {
	parsed    *template.Template
	usesFacts bool
	work      *meter // of one rendering after the other
}

func parseTemplate(text string) (*contentTemplate, error) {
	work := &meter{}
	parsed, err := template.New("contentTemplate").Option("missingkey=error").Funcs(metered(pureFunctions(), work)).Parse(text)
	if err != nil {
		return nil, templateError(err)
	}
	for _, t := range parsed.Templates() {
		t.Root.Nodes = append([]parse.Node{step()}, t.Root.Nodes...)
		countLoops(t.Root)
	}
	// Who only writes of "facts" waits for them needlessly, and for moments.
	return &contentTemplate{parsed: parsed, usesFacts: strings.Contains(text, "facts"), work: work}, nil
}

func (t *contentTemplate) render(n *subject) (string, error) {
	var out boundedBuilder
	t.work.left = maxWork
	if err := t.parsed.Execute(&out, n.variables()); err != nil {
		return "", templateError(err)
	}
	return out.String(), nil
}

// templateError begins with the line: the template's name says nothing here.
func templateError(err error) error {
	for _, limit := range []error{errTooLong, errTooSlow, errTooMuch} {
		if errors.Is(err, limit) {
			return limit
		}
	}
	text := strings.TrimPrefix(err.Error(), "template: contentTemplate:")
	if text == err.Error() {
		return err
	}
	return fmt.Errorf("line %s", text)
}

// countLoops lets every turn of a loop be noticed by the writer, which counts them.
func countLoops(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.RangeNode:
			n.List.Nodes = append([]parse.Node{step()}, n.List.Nodes...)
			countLoops(n.List)
			countLoops(n.ElseList)
		case *parse.IfNode:
			countLoops(n.List)
			countLoops(n.ElseList)
		case *parse.WithNode:
			countLoops(n.List)
			countLoops(n.ElseList)
		}
	}
}

// step writes nothing, and is a write all the same.
func step() parse.Node { return &parse.TextNode{NodeType: parse.NodeText} }

// boundedBuilder keeps a slip in a template from taking the manager's memory or time.
type boundedBuilder struct {
	strings.Builder
	steps int
}

func (b *boundedBuilder) Write(p []byte) (int, error) {
	if b.steps++; b.steps > maxSteps {
		return 0, errTooSlow
	}
	if b.Len()+len(p) > maxContent {
		return 0, errTooLong
	}
	return b.Builder.Write(p)
}
