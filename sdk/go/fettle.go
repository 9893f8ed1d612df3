// Package fettle has providers for external types of Fettle. It needs only the standard library.
//
// Implement [SimpleProvider], or [Provider] to read or change many resources at once, and call [Main]:
//
//	func main() { fettle.Main(fettle.Simple(note{})) }
//
// A provider may also implement [Lister], [Canonicalizer], [Validator], [Checker] and [Refresher], which its type lists in
// spec.requests. The protocol, Fettle/1, is described in docs/external-types.md. Standard output is for answers: what
// a provider prints goes to standard error.
package fettle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// A State has the attributes of a resource by name. Numbers that Fettle sent are of type [json.Number].
type State map[string]any

// Text returns an attribute as text, "" if it is not set or not text.
func (s State) Text(name string) string {
	text, _ := s[name].(string)
	return text
}

// Decode decodes the attributes into a struct with tags for JSON.
func (s State) Decode(into any) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// A Resource is one resource of a request.
type Resource struct {
	// Name is the namevar; of several, their values joined.
	Name string `json:"name"`
	// Should has the desired attributes that are managed, with ensure.
	Should State `json:"should"`
	// Current has the attributes as they were read before, for changes; nil if the resource does not exist.
	Current State `json:"is"`
	// Changes are the names of the attributes that are out of sync, for changes.
	Changes []string `json:"changes"`
	// Sensitive are the names of the attributes whose values must not be shown.
	Sensitive []string `json:"sensitive"`
	// Related are the resources of the catalog that relations with sendDesired find.
	Related []Related `json:"related"`

	notes    []string
	inSync   map[string]any
	answer   func(answer) // nil once it is answered
	answered string
}

// Related is another resource of the catalog.
type Related struct {
	Kind string `json:"kind"`
	// Name is the namevar; of several, their values joined.
	Name string `json:"name"`
	// Should has the desired attributes that are managed, whether or not they have been applied.
	Should State `json:"should"`
	// Omitted are the names of attributes that are set but not sent, such as sensitive ones.
	Omitted []string `json:"omitted"`
}

// Absent reports whether the resource is to be removed.
func (r *Resource) Absent() bool { return r.Should.Text("ensure") == "absent" }

// Changed reports whether an attribute is out of sync, for changes.
func (r *Resource) Changed(name string) bool { return slices.Contains(r.Changes, name) }

// Note adds a line to the report of a change. It must contain no secret.
func (r *Resource) Note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// InSync says whether an attribute is in sync, for reads, so that Fettle does not compare it. The message, which may be
// empty, says why; it must contain no secret.
func (r *Resource) InSync(name string, inSync bool, message string) {
	if r.inSync == nil {
		r.inSync = map[string]any{}
	}
	if r.inSync[name] = inSync; message != "" {
		r.inSync[name] = []any{inSync, message}
	}
}

// Answer answers for this resource at once, even if the program fails later: with its state, for Get and Canonicalize, or
// the error. A nil state is a resource that does not exist. Other answers for the resource are ignored.
func (r *Resource) Answer(state State, err error) {
	if r.answer == nil {
		return
	}
	a := answer{Answer: r.answered, Name: r.Name, Notes: r.notes}
	var attributes AttributeErrors
	switch {
	case errors.Is(err, ErrNothingToRefresh):
		a.NothingToRefresh = true
	case errors.As(err, &attributes):
		a.Errors = attributes
	case err != nil:
		a.Error = message(err)
	case r.answered == "get" || r.answered == "canonicalize":
		a.State, a.InSync = &state, r.inSync
	}
	r.answer(a)
	r.answer = nil
}

// A Provider reads and changes many resources at once. It may answer for each with [Resource.Answer]. Of those without an
// answer, an error fails all, and none means that they do not exist (Get) or were changed (Set).
type Provider interface {
	Get(ctx context.Context, resources []*Resource) error
	Set(ctx context.Context, resources []*Resource) error
}

// A Lister returns the attributes of all existing resources by name.
type Lister interface {
	List(ctx context.Context) (map[string]State, error)
}

// A Canonicalizer returns the desired attributes of a resource as Get returns them.
type Canonicalizer interface {
	Canonicalize(should State) (State, error)
}

// A Validator returns why a change would fail. It changes nothing.
type Validator interface {
	Validate(ctx context.Context, r *Resource) error
}

// A Checker returns why a whole run must not take place. It changes nothing, and nothing was changed yet. A panic ends the
// program: then only its resources fail.
type Checker interface {
	Check(ctx context.Context, r *Resource) error
}

// A Refresher reacts to a notification.
type Refresher interface {
	Refresh(ctx context.Context, r *Resource) error
}

// ErrNothingToRefresh is returned by a [Refresher] for a resource that needs no refresh, such as a service that does not
// run.
var ErrNothingToRefresh = errors.New("nothing to refresh")

// AttributeErrors are why single attributes could not be set, by name.
type AttributeErrors map[string]string

// Error implements error.
func (e AttributeErrors) Error() string { return fmt.Sprint(map[string]string(e)) }

// A SimpleProvider reads and changes one resource at a time. An error fails one resource alone.
type SimpleProvider interface {
	// Read returns the current attributes, nil if the resource does not exist.
	Read(ctx context.Context, r *Resource) (State, error)
	Create(ctx context.Context, r *Resource) error
	Update(ctx context.Context, r *Resource) error
	Delete(ctx context.Context, r *Resource) error
}

// Simple returns a Provider of a SimpleProvider, with its optional methods.
func Simple(p SimpleProvider) Provider { return simple{p} }

type simple struct{ SimpleProvider }

// Get implements [Provider].
func (s simple) Get(ctx context.Context, resources []*Resource) error {
	for _, r := range resources {
		each(r, func() (State, error) { return s.Read(ctx, r) })
	}
	return nil
}

// Set implements [Provider].
func (s simple) Set(ctx context.Context, resources []*Resource) error {
	for _, r := range resources {
		change := s.Update
		switch {
		case r.Absent():
			change = s.Delete
		case r.Current == nil:
			change = s.Create
		}
		each(r, func() (State, error) { return nil, change(ctx, r) })
	}
	return nil
}

// each answers for a resource. A panic fails it alone.
func each(r *Resource, do func() (State, error)) {
	defer func() {
		if p := recover(); p != nil {
			r.Answer(nil, fmt.Errorf("the provider panicked: %v", p))
		}
	}()
	r.Answer(do())
}

// message returns the text of an error, which is never empty.
func message(err error) string {
	if text := err.Error(); text != "" {
		return text
	}
	return fmt.Sprintf("%T", err)
}
