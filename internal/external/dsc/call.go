package dsc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// State has the properties of an instance by name. Numbers are [json.Number].
type State map[string]any

// A Call is how a command is started.
type Call struct {
	Args  []string // without the executable
	Env   []string // NAME=value
	Stdin []byte
}

// A Target is what a command is about, besides its input.
type Target struct {
	Type    string // of the resource
	Version string // of the resource
	Path    string // of its manifest, or of an adapted resource
	Content string // of an adapted resource, in JSON; "" for none
}

// maxArgument is the limit that Linux has for an argument, in bytes.
const maxArgument = 128<<10 - 1

// Call returns how to start a command. A nil input is no input. It never requests a what-if.
func (o *Operation) Call(t Target, input State) (c Call, err error) {
	var text []byte
	if input != nil {
		if text, err = encode(input); err != nil {
			return c, err
		}
	}
	for _, a := range o.Args {
		c.Args = append(c.Args, a.words(t, string(text), input != nil)...)
	}
	switch {
	case input == nil:
	case o.Input == InputStdin:
		c.Stdin = text
	case o.Input == InputEnv:
		c.Env, err = environment(input)
	}
	if err == nil && o.exposesInput() && len(text) > maxArgument {
		err = fmt.Errorf("the properties have %d KiB, but arguments can have %d: have the manifest pass them on stdin", len(text)>>10, maxArgument>>10)
	}
	return c, err
}

// words returns what an argument stands for.
func (a Arg) words(t Target, input string, has bool) []string {
	switch {
	case a.WhatIf != "":
		return nil
	case a.Version != "":
		return []string{a.Version, t.Version}
	case a.Content != "":
		return slices.DeleteFunc([]string{a.Content, t.Content}, func(word string) bool { return word == "" })
	case a.Type != "":
		return []string{a.Type, t.Type}
	case a.Path != "":
		return []string{a.Path, quoted(t.Path, a.Quotes)}
	case a.JSON == "":
		return []string{a.Text}
	case has || a.Mandatory:
		return []string{a.JSON, input}
	}
	return nil
}

func quoted(path string, quotes bool) string {
	if quotes {
		return `"` + path + `"`
	}
	return path
}

func encode(s State) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// environment returns properties as variables: lists are joined by commas, and null is left out.
func environment(s State) ([]string, error) {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if s[name] == nil {
			continue
		}
		value, err := flat(s[name])
		if err != nil {
			return nil, fmt.Errorf("%s cannot be passed in the environment: %w", name, err)
		}
		all = append(all, name+"="+value)
	}
	return all, nil
}

// flat returns a value as the text of a variable.
func flat(value any) (string, error) {
	switch v := value.(type) {
	case map[string]any:
		return "", errors.New("it is an object: have the manifest pass properties on stdin")
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			if _, nested := e.([]any); nested {
				return "", errors.New("it has lists of lists: have the manifest pass properties on stdin")
			}
			var err error
			if parts[i], err = flat(e); err != nil {
				return "", err
			}
		}
		return strings.Join(parts, ","), nil
	case string:
		if strings.ContainsRune(v, 0) {
			return "", errors.New("it has a NUL byte")
		}
		return v, nil
	}
	return fmt.Sprint(value), nil
}
