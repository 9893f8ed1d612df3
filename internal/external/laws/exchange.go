package laws

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/text"
)

// A Watched host compares the answers of a program with what it was asked, by laws and by transactions. Safe for concurrent use.
type Watched struct {
	host.Host

	definition *definition.Definition
	dir        string

	mu    sync.Mutex
	fault error // the first one
}

// Watch returns a host that watches the program with the files in a directory.
func Watch(h host.Host, d *definition.Definition, dir string) *Watched {
	return &Watched{Host: h, definition: d, dir: dir}
}

// Query implements [host.Reader].
func (w *Watched) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	res, err := w.Host.Query(ctx, cmd)
	w.watch(cmd, res)
	return res, err
}

// Run implements [host.Host].
func (w *Watched) Run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	res, err := w.Host.Run(ctx, cmd)
	w.watch(cmd, res)
	return res, err
}

// Fault returns the first answer that is not one to its question; nil if there was none.
func (w *Watched) Fault() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fault
}

func (w *Watched) watch(cmd host.Cmd, res host.Result) {
	if cmd.Dir != w.dir {
		return
	}
	asked, ok := questions(cmd.Stdin)
	if !ok {
		return // a law sends what is no request
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range bytes.Lines(res.Stdout) {
		var answer wire.Answer
		if w.fault == nil && json.Unmarshal(line, &answer) == nil { // other laws are about the rest
			w.fault = w.check(asked, answer)
		}
	}
}

// questions returns the requests by name, each with the names of its resources that have no answer yet.
func questions(stdin []byte) (map[string]map[string]bool, bool) {
	asked := map[string]map[string]bool{}
	for line := range bytes.Lines(stdin) {
		var r wire.Request
		if json.Unmarshal(line, &r) != nil {
			return nil, false
		}
		names := map[string]bool{}
		if r.Request == wire.Hello {
			names[""] = true
		}
		for _, resource := range r.Resources {
			names[resource.Name] = true
		}
		asked[r.Request] = names
	}
	return asked, true
}

func (w *Watched) check(asked map[string]map[string]bool, a wire.Answer) error {
	names, known := asked[a.Answer]
	switch {
	case !known:
		return fmt.Errorf("an answer is to the request %.40q, which was not made", a.Answer)
	case a.Answer == wire.List:
	case !names[a.Name]:
		return fmt.Errorf("an answer to %s has the name %.80q, which was not asked for, or has an answer: answer each name once, as it was written", a.Answer, a.Name)
	default:
		names[a.Name] = false
	}
	if err := fields(a); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a.Errors)) {
		if !slices.Contains(append(w.attributes(), "ensure"), name) {
			return fmt.Errorf("the answer to %s for %.80q has an error of the attribute %.40q, which the type does not have", a.Answer, a.Name, name)
		}
	}
	return printable(a)
}

func (w *Watched) attributes() []string {
	var names []string
	for _, at := range w.definition.Spec.Attributes {
		names = append(names, at.Name)
	}
	return names
}

// fields returns an error if an answer has a field that answers to this request do not have.
func fields(a wire.Answer) error {
	allowed := map[string][]string{
		wire.Get: {"state", "inSync"}, wire.List: {"state"}, wire.Canonicalize: {"state"}, wire.Set: {"errors", "notes"}, wire.Refresh: {"nothingToRefresh"},
	}[a.Answer]
	for field, set := range map[string]bool{
		"state": a.State != nil, "inSync": a.InSync != nil, "errors": a.Errors != nil, "notes": a.Notes != nil, "nothingToRefresh": a.NothingToRefresh,
	} {
		if set && !slices.Contains(allowed, field) && a.Answer != wire.Hello && !(field == "notes" && a.Error == "") {
			return fmt.Errorf("the answer to %s for %.80q has the field %s, which such an answer does not have", a.Answer, a.Name, field)
		}
	}
	if a.Error != "" && a.State != nil {
		return fmt.Errorf("the answer to %s for %.80q has a state and an error: write one of them", a.Answer, a.Name)
	}
	return nil
}

// printable returns an error if people would see escaped characters. An error may quote an odd name.
func printable(a wire.Answer) error {
	shown := slices.Concat(a.Notes, []string{a.Error})
	shown = slices.AppendSeq(shown, maps.Values(a.Errors))
	for _, line := range shown {
		if line = strings.TrimSuffix(line, "\n"); text.Line(line) != line && text.Line(a.Name) == a.Name {
			return fmt.Errorf("the answer to %s for %.80q has a message with control characters, or of several lines: %q", a.Answer, a.Name, line)
		}
	}
	for name, v := range a.InSync {
		if text.Block(v.Message) != v.Message {
			return fmt.Errorf("the answer to %s for %.80q has a message about %s with control characters: %q", a.Answer, a.Name, name, v.Message)
		}
	}
	return nil
}
