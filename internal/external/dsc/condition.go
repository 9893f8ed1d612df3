package dsc

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Needs returns the commands that a host must have for the condition of a manifest to hold; none for "". A condition is an
// expression such as [not(equals(tryWhich('pwsh'), null()))]. Those that depend on anything but commands are refused: a type
// is built once, for all hosts.
func Needs(condition string) ([]string, error) {
	if condition == "" {
		return nil, nil
	}
	refused := func(reason string) error {
		return fmt.Errorf("condition %.200q is refused, because %s: remove it from the manifest, and use spec.when of the resources, or spec.providers[0].needs of the type", condition, reason)
	}
	inner, ok := strings.CutPrefix(condition, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !ok || !closed {
		return nil, refused("it is not an expression in brackets")
	}
	p := &expressionParser{text: inner}
	e, err := p.expression(0)
	if err != nil {
		return nil, refused(err.Error())
	}
	if p.skip(); p.text != "" {
		return nil, refused(fmt.Sprintf("%.20q follows its end", p.text))
	}
	needs, err := e.needs()
	if err != nil {
		return nil, refused(err.Error())
	}
	slices.Sort(needs)
	return slices.Compact(needs), nil
}

// An expression is a call, or a text if call is "".
type expression struct {
	call string
	args []expression
	text string
}

// needs returns the commands that make an expression true.
func (e expression) needs() ([]string, error) {
	switch {
	case e.is("true", 0):
		return nil, nil
	case e.is("false", 0):
		return nil, errors.New("it is never true")
	case e.is("and", len(e.args)):
		var all []string
		for _, a := range e.args {
			some, err := a.needs()
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		return all, nil
	case e.is("not", 1):
		return e.args[0].needsOfOpposite()
	}
	return nil, e.unknown()
}

// needsOfOpposite returns the commands that make an expression false: a comparison of a command's path with null.
func (e expression) needsOfOpposite() ([]string, error) {
	switch {
	case e.is("false", 0):
		return nil, nil
	case e.is("true", 0):
		return nil, errors.New("it is never true")
	case e.is("not", 1):
		return e.args[0].needs()
	case e.is("equals", 2):
		command, null := e.args[0], e.args[1]
		if command.is("null", 0) {
			command, null = null, command
		}
		if null.is("null", 0) && command.is("tryWhich", 1) && command.args[0].call == "" && command.args[0].text != "" {
			return []string{command.args[0].text}, nil
		}
	}
	return nil, e.unknown()
}

// is reports whether an expression is a call of a function, whose name has any case.
func (e expression) is(function string, args int) bool {
	return strings.EqualFold(e.call, function) && len(e.args) == args
}

func (e expression) unknown() error {
	if e.call == "" {
		return errors.New("it is a text")
	}
	return fmt.Errorf("the use of %s is more than to require commands by tryWhich", e.call)
}

// An expressionParser reads the part of DSC's expressions that has calls and texts.
type expressionParser struct{ text string }

// maxExpressionDepth limits nested calls.
const maxExpressionDepth = 32

func (p *expressionParser) skip() { p.text = strings.TrimLeft(p.text, " \t\r\n") }

func (p *expressionParser) expression(depth int) (expression, error) {
	if depth > maxExpressionDepth {
		return expression{}, errors.New("it is nested too deeply")
	}
	p.skip()
	if strings.HasPrefix(p.text, "'") {
		return p.literal()
	}
	name := p.text[:len(p.text)-len(strings.TrimLeft(p.text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))]
	p.text = p.text[len(name):]
	if p.skip(); name == "" || !strings.HasPrefix(p.text, "(") {
		return expression{}, errors.New("it has more than calls and texts")
	}
	p.text = p.text[1:]
	args, err := p.arguments(depth)
	return expression{call: name, args: args}, err
}

// arguments reads until the bracket that closes a call.
func (p *expressionParser) arguments(depth int) (all []expression, err error) {
	if p.skip(); strings.HasPrefix(p.text, ")") {
		p.text = p.text[1:]
		return nil, nil
	}
	for {
		e, err := p.expression(depth + 1)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
		p.skip()
		rest, more := strings.CutPrefix(p.text, ",")
		if !more {
			break
		}
		p.text = rest
	}
	rest, closed := strings.CutPrefix(p.text, ")")
	if p.text = rest; !closed {
		return nil, errors.New("a call is not closed")
	}
	return all, nil
}

// literal reads a text in quotes, in which two quotes stand for one.
func (p *expressionParser) literal() (expression, error) {
	p.text = p.text[1:]
	var text strings.Builder
	for {
		before, after, ok := strings.Cut(p.text, "'")
		if !ok {
			return expression{}, errors.New("a text is not closed")
		}
		text.WriteString(before)
		if p.text = after; !strings.HasPrefix(after, "'") {
			return expression{text: text.String()}, nil
		}
		text.WriteString("'")
		p.text = after[1:]
	}
}
