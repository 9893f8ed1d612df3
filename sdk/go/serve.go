package fettle

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

const protocol = "Fettle/1"

// Main answers the requests on standard input, and exits. The provider manages resources of any kind.
func Main(p Provider) { main(func(string) (Provider, bool) { return p, true }) }

// MainKinds is Main for a program of several kinds.
func MainKinds(byKind map[string]Provider) {
	main(func(kind string) (Provider, bool) { p, ok := byKind[kind]; return p, ok })
}

func main(choose func(string) (Provider, bool)) {
	answers := os.Stdout
	os.Stdout = os.Stderr // what a provider prints is no answer
	if err := Serve(context.Background(), choose, os.Stdin, answers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Serve answers all requests. choose returns the provider of a kind. The error says why requests are not those of Fettle/1;
// those of resources are part of the answers.
func Serve(ctx context.Context, choose func(kind string) (Provider, bool), requests io.Reader, answers io.Writer) error {
	s := &session{out: json.NewEncoder(answers)}
	s.out.SetEscapeHTML(false)
	lines := bufio.NewReader(requests)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := s.serve(ctx, choose, line); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return s.failed
		case err != nil:
			return err
		}
	}
}

type request struct {
	Request   string      `json:"request"`
	Protocol  string      `json:"protocol"`
	Kind      string      `json:"kind"`
	Resources []*Resource `json:"resources"`
}

type answer struct {
	Answer           string            `json:"answer"`
	Name             string            `json:"name,omitempty"`
	Protocol         string            `json:"protocol,omitempty"`
	State            *State            `json:"state,omitempty"`
	InSync           map[string]any    `json:"inSync,omitempty"`
	Error            string            `json:"error,omitempty"`
	Errors           map[string]string `json:"errors,omitempty"`
	Notes            []string          `json:"notes,omitempty"`
	NothingToRefresh bool              `json:"nothingToRefresh,omitempty"`
}

// A session answers the requests of one process.
type session struct {
	out      *json.Encoder
	provider Provider
	failed   error // of the output
}

func (s *session) write(a answer) { s.failed = errors.Join(s.failed, s.out.Encode(a)) }

// serve answers one request.
func (s *session) serve(ctx context.Context, choose func(string) (Provider, bool), line []byte) error {
	var r request
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&r); err != nil {
		return fmt.Errorf("a line is not a request: %w", err)
	}
	switch {
	case r.Request == "hello":
		return s.hello(choose, r)
	case s.provider == nil:
		return errors.New("the first request is not hello")
	case r.Request == "list":
		s.list(ctx)
		return nil
	}
	for _, resource := range r.Resources {
		resource.answered, resource.answer = r.Request, s.write
	}
	if r.Request == "check" {
		return s.check(ctx, r)
	}
	err := s.handle(ctx, r)
	for _, resource := range r.Resources { // those without an answer
		resource.Answer(nil, err)
	}
	return nil
}

func (s *session) hello(choose func(string) (Provider, bool), r request) error {
	if name, _, _ := strings.Cut(r.Protocol, "."); name != protocol {
		return fmt.Errorf("unknown protocol %s", r.Protocol)
	}
	p, ok := choose(r.Kind)
	if !ok {
		return fmt.Errorf("this program has no kind %s", r.Kind)
	}
	s.provider = p
	s.write(answer{Answer: "hello", Protocol: protocol})
	return nil
}

// optional returns what has the optional methods of the provider.
func (s *session) optional() any {
	if p, ok := s.provider.(simple); ok {
		return p.SimpleProvider
	}
	return s.provider
}

// handle passes a request to the provider. A panic fails the resources without an answer.
func (s *session) handle(ctx context.Context, r request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the provider panicked: %v", p)
		}
	}()
	switch r.Request {
	case "get":
		return s.provider.Get(ctx, r.Resources)
	case "set":
		return s.provider.Set(ctx, r.Resources)
	case "canonicalize":
		if p, ok := s.optional().(Canonicalizer); ok {
			return one(r, func(r *Resource) (State, error) { return p.Canonicalize(r.Should) })
		}
	case "validate":
		if p, ok := s.optional().(Validator); ok {
			return one(r, func(r *Resource) (State, error) { return nil, p.Validate(ctx, r) })
		}
	case "refresh":
		if p, ok := s.optional().(Refresher); ok {
			return one(r, func(r *Resource) (State, error) { return nil, p.Refresh(ctx, r) })
		}
	}
	return fmt.Errorf("unknown request %s", r.Request)
}

// check asks about a run. An error prevents that, so a fault of the program must not be one.
func (s *session) check(ctx context.Context, r request) error {
	p, ok := s.optional().(Checker)
	if !ok {
		return errors.New("the provider has no method Check: remove Check from spec.requests")
	}
	for _, resource := range r.Resources {
		resource.Answer(nil, p.Check(ctx, resource))
	}
	return nil
}

// one answers for one resource after the other.
func one(r request, do func(*Resource) (State, error)) error {
	for _, resource := range r.Resources {
		each(resource, func() (State, error) { return do(resource) })
	}
	return nil
}

func (s *session) list(ctx context.Context) {
	p, ok := s.optional().(Lister)
	if !ok {
		s.write(answer{Answer: "list", Error: "this provider cannot list resources"})
		return
	}
	all, err := p.List(ctx)
	if err != nil {
		s.write(answer{Answer: "list", Error: message(err)})
		return
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		state := all[name]
		s.write(answer{Answer: "list", Name: name, State: &state})
	}
}
