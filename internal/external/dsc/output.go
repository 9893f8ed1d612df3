package dsc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// An Outcome is what set or test printed.
type Outcome struct {
	State State // nil if the command prints none
	// Diff are the names of the properties that differ, in the order of the command; nil if it prints none.
	Diff []string
}

// byteOrderMark is what PowerShell may begin its output with.
const byteOrderMark = "\ufeff"

// Document reads an output that is one instance. Its error has no value of the output, which may be secret.
func Document(output []byte) (State, error) {
	var s State
	d := decoder(output)
	if err := d.Decode(&s); err != nil {
		return nil, unreadable("one JSON object", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the output has more than one JSON object")
	}
	if s == nil {
		return nil, errors.New("the output is null: an instance that does not exist has _exist: false")
	}
	return s, nil
}

// Documents reads an output that has an instance in each line.
func Documents(output []byte) ([]State, error) {
	var all []State
	n := 0
	for line := range bytes.Lines(bytes.TrimPrefix(output, []byte(byteOrderMark))) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		s, err := Document(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// Outcome reads the output of set or test, as the command's Return says.
func (o *Operation) Outcome(output []byte) (r Outcome, err error) {
	switch o.Return {
	case ReturnState:
		r.State, err = Document(output)
	case ReturnStateAndDiff:
		output = bytes.TrimSpace(bytes.TrimPrefix(output, []byte(byteOrderMark)))
		state, diff, ok := bytes.Cut(output, []byte("\n"))
		if !ok {
			return r, errors.New("the output has no second line: stateAndDiff is a line with the state, and one with a list of property names")
		}
		if r.State, err = Document(state); err != nil {
			return r, fmt.Errorf("line 1: %w", err)
		}
		if err = json.Unmarshal(diff, &r.Diff); err != nil {
			return r, fmt.Errorf("line 2: %w", unreadable("a list of property names", err))
		}
		if r.Diff == nil {
			r.Diff = []string{}
		}
	}
	return r, err
}

// Validity reads the output of validate: why an instance is invalid; "" if it is valid.
func Validity(output []byte) (reason string, err error) {
	var v struct {
		Valid  *bool   `json:"valid"`
		Reason *string `json:"reason"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(output, []byte(byteOrderMark)), &v); err != nil {
		return "", unreadable(`{"valid": true or false, "reason": text}`, err)
	}
	switch {
	case v.Valid == nil:
		return "", errors.New("the output of validate does not have valid")
	case *v.Valid:
		return "", nil
	case v.Reason == nil || *v.Reason == "":
		return "no reason given", nil
	}
	return *v.Reason, nil
}

// decoder keeps the digits of numbers.
func decoder(output []byte) *json.Decoder {
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(output, []byte(byteOrderMark))))
	d.UseNumber()
	return d
}

// unreadable says where an output is not as expected.
func unreadable(want string, err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the output is empty: it must be %s", want)
	case errors.As(err, &syntax):
		return fmt.Errorf("the output is not %s: invalid JSON at byte %d", want, syntax.Offset)
	}
	return fmt.Errorf("the output is not %s", want)
}
