// Package wire encodes and decodes Fettle/1, the protocol of the programs of external types.
//
// A program reads all requests from stdin, one JSON object per line. The first is hello. For each resource of a
// request it writes one JSON object in a line to stdout, in any order, and it ends at the end of stdin. See
// docs/external-types.md.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Protocol is the name and the major version of the protocol.
const Protocol = "Fettle/1"

// Names of requests.
const (
	Hello        = "hello"
	Get          = "get"
	List         = "list"
	Canonicalize = "canonicalize"
	Set          = "set"
	Refresh      = "refresh"
	Validate     = "validate"
	Check        = "check"
)

// State has the attributes of a resource by name, with ensure. A nil State stands for a resource that does not exist.
type State map[string]any

// A Request is one line that a program reads. Hello has only the first fields, and all others only Resources.
type Request struct {
	Request  string `json:"request"`
	Protocol string `json:"protocol,omitempty"`
	Kind     string `json:"kind,omitempty"`
	Version  string `json:"version,omitempty"` // of the type
	Provider string `json:"provider,omitempty"`

	Resources []Resource `json:"resources,omitempty"`
}

// A Resource is the part of a request about one resource.
type Resource struct {
	Name string `json:"name"` // the namevar
	// Should is the desired state, which has only managed attributes. A resource whose ensure is absent is to be
	// removed.
	Should State `json:"should,omitempty"`
	// Sensitive are the attributes of Should and Is whose values must not be shown.
	Sensitive []string `json:"sensitive,omitempty"`
	// Is is the current state, for set, refresh and validate; nil if the resource does not exist.
	Is State `json:"is,omitempty"`
	// Changes are the attributes that are out of sync, for set and validate.
	Changes []string `json:"changes,omitempty"`
	// Related are the resources of the catalog that relations with sendDesired find.
	Related []Related `json:"related,omitempty"`
}

// Related is another resource of the catalog.
type Related struct {
	Kind   string                     `json:"kind"`
	Name   string                     `json:"name"`             // the namevar
	Should map[string]json.RawMessage `json:"should,omitempty"` // without values that others must not see
	// Omitted are the attributes that are set, but not in Should.
	Omitted []string `json:"omitted,omitempty"`
}

// An Answer is one line that a program writes.
type Answer struct {
	Answer string `json:"answer"` // the name of the request
	Name   string `json:"name"`   // of the resource
	// Protocol is in the answer to hello.
	Protocol string `json:"protocol"`
	// State is the current state for get and list, and the canonical desired state for canonicalize.
	State State `json:"state"`
	// InSync replaces the comparison of attributes, for get.
	InSync map[string]Verdict `json:"inSync"`
	// Error is why the request failed, and Errors why single attributes could not be set.
	Error  string            `json:"error"`
	Errors map[string]string `json:"errors"`
	// Notes are lines for the report.
	Notes []string `json:"notes"`
	// NothingToRefresh is an answer to refresh.
	NothingToRefresh bool `json:"nothingToRefresh"`
}

// A Verdict says whether an attribute is in sync. It is a bool or, with a message for people, a list of a bool and a
// string.
type Verdict struct {
	InSync  bool
	Message string
}

// UnmarshalJSON implements [json.Unmarshaler].
func (v *Verdict) UnmarshalJSON(raw []byte) error {
	*v = Verdict{}
	if json.Unmarshal(raw, &v.InSync) == nil {
		return nil
	}
	var pair []json.RawMessage
	if json.Unmarshal(raw, &pair) != nil || len(pair) != 2 ||
		json.Unmarshal(pair[0], &v.InSync) != nil || json.Unmarshal(pair[1], &v.Message) != nil {
		return errors.New("a value of inSync must be true, false, or a list of one of them and a message")
	}
	return nil
}

// Encode returns the lines of requests.
func Encode(requests ...Request) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	for _, r := range requests {
		if err := e.Encode(r); err != nil {
			return nil, fmt.Errorf("cannot encode the request %s: %w", r.Request, err)
		}
	}
	return out.Bytes(), nil
}

// Answers are the answers of one process, by request and name. The zero value has none.
type Answers struct {
	byName map[[2]string]Answer
	listed []Answer
	// Err is why the output ends early or has something else than answers; nil if it is complete.
	Err error
}

// Has reports whether there is an answer to a request about a resource.
func (a Answers) Has(request, name string) bool {
	_, ok := a.byName[[2]string{request, name}]
	return ok
}

// Of returns the answer to a request about a resource. The error comes from the answer, or says that there is
// none.
func (a Answers) Of(request, name string) (Answer, error) {
	answer, ok := a.byName[[2]string{request, name}]
	switch {
	case !ok && a.Err != nil:
		return answer, a.Err
	case !ok:
		return answer, fmt.Errorf("the program did not answer the request %s for %q", request, name)
	case answer.Error != "":
		return answer, errors.New(answer.Error)
	}
	return answer, nil
}

// Redacted returns the answers with every text for people replaced: errors, notes and the messages of verdicts.
func (a Answers) Redacted(text func(string) string) Answers {
	if a.Err != nil {
		a.Err = errors.New(text(a.Err.Error()))
	}
	a.byName, a.listed = maps.Clone(a.byName), slices.Clone(a.listed)
	for key, answer := range a.byName {
		a.byName[key] = answer.redacted(text)
	}
	for i, answer := range a.listed {
		a.listed[i] = answer.redacted(text)
	}
	return a
}

// Translated returns the answers as functions translate them: those to list, of which it leaves out some, and the others, which may get other
// names.
func (a Answers) Translated(listed func(Answer) (Answer, bool), other func(Answer) Answer) Answers {
	out := Answers{byName: make(map[[2]string]Answer, len(a.byName)), Err: a.Err}
	for key, answer := range a.byName {
		answer = other(answer)
		out.byName[[2]string{key[0], answer.Name}] = answer
	}
	for _, answer := range a.listed {
		if answer, ok := listed(answer); ok {
			out.listed = append(out.listed, answer)
		}
	}
	return out
}

func (a Answer) redacted(text func(string) string) Answer {
	a.Error = text(a.Error)
	a.Notes, a.Errors, a.InSync = slices.Clone(a.Notes), maps.Clone(a.Errors), maps.Clone(a.InSync)
	for i, note := range a.Notes {
		a.Notes[i] = text(note)
	}
	for name, message := range a.Errors {
		a.Errors[name] = text(message)
	}
	for name, v := range a.InSync {
		v.Message = text(v.Message)
		a.InSync[name] = v
	}
	return a
}

// Listed returns the answers to list. They are complete only if Err is nil.
func (a Answers) Listed() []Answer { return a.listed }

// Decode decodes the output of a program. What follows an error is ignored, because it may be anything; the answers before
// it count.
func Decode(output []byte) (a Answers) {
	a.byName = map[[2]string]Answer{}
	for line := range bytes.Lines(output) {
		if line = bytes.TrimSpace(line); len(line) > 0 && a.Err == nil {
			a.Err = a.add(line)
		}
	}
	hello, ok := a.byName[[2]string{Hello, ""}]
	switch {
	case hello.Protocol == Protocol:
		return a
	case ok:
		a.Err = fmt.Errorf("the program speaks %.40q, and this version of Fettle speaks %s", hello.Protocol, Protocol)
	case a.Err == nil:
		a.Err = errors.New("the program did not answer hello: it must write {\"answer\":\"hello\",\"protocol\":\"" + Protocol + "\"}")
	}
	return Answers{Err: a.Err}
}

func (a *Answers) add(line []byte) error {
	var answer Answer
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(&answer); err != nil {
		return fmt.Errorf("a line of the program's output is not an answer: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if answer.Answer == List {
		a.listed = append(a.listed, answer)
		return nil
	}
	key := [2]string{answer.Answer, answer.Name}
	if _, again := a.byName[key]; again {
		answer = Answer{Answer: answer.Answer, Name: answer.Name, Error: fmt.Sprintf("the program answered the request %.20q for %.80q twice", answer.Answer, answer.Name)}
	}
	a.byName[key] = answer
	return nil
}
