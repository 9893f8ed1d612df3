package catalog

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
)

// maxContent is how long rendered content may be, in bytes: as long as the API lets a
// written one be.
const maxContent = 384 << 10

var errTooLong = errors.New("content is longer than 384 KiB")

// A contentTemplate is a parsed contentTemplate.
type contentTemplate struct {
	parsed    *template.Template
	usesFacts bool
}

func parseTemplate(text string) (*contentTemplate, error) {
	parsed, err := template.New("contentTemplate").Option("missingkey=error").Funcs(pureFunctions()).Parse(text)
	if err != nil {
		return nil, templateError(err)
	}
	// Who only writes of "facts" waits for them needlessly, and for moments.
	return &contentTemplate{parsed: parsed, usesFacts: strings.Contains(text, "facts")}, nil
}

func (t *contentTemplate) render(n *Node) (string, error) {
	var out boundedBuilder
	if err := t.parsed.Execute(&out, variables(n)); err != nil {
		return "", templateError(err)
	}
	return out.String(), nil
}

// templateError begins with the line: the template's name says nothing here.
func templateError(err error) error {
	if errors.Is(err, errTooLong) {
		return errTooLong
	}
	text := strings.TrimPrefix(err.Error(), "template: contentTemplate:")
	if text == err.Error() {
		return err
	}
	return fmt.Errorf("line %s", text)
}

// boundedBuilder keeps a loop in a template from filling the manager's memory.
type boundedBuilder struct{ strings.Builder }

func (b *boundedBuilder) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxContent {
		return 0, errTooLong
	}
	return b.Builder.Write(p)
}

