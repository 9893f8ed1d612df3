package typetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/cli/typetest"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/source"
)

// entry is a type that declares all requests.
const entry = `
apiVersion: fettle.dev/v1alpha1
kind: ExternalType
metadata: {name: entries}
spec:
  kind: Entry
  version: 1.0.0
  description: Manages an entry of a registry.
  example: |
    apiVersion: types.fettle.dev/v1alpha1
    kind: Entry
    metadata: {name: one}
    spec: {nodeSelector: {}, properties: {zone: z, name: one, text: " Hello ", size: 5}}
    ---
    apiVersion: types.fettle.dev/v1alpha1
    kind: Entry
    metadata: {name: two}
    spec: {nodeSelector: {}, properties: {zone: z, name: two, text: two}}
  attributes:
  - {name: zone, description: Its zone., behaviour: Namevar, schema: {type: string, pattern: "^[a-z]+$"}}
  - {name: name, description: Its name., behaviour: Namevar, schema: {type: string}}
  - {name: text, description: Its text., required: true, schema: {type: string}}
  - {name: size, description: Its size., schema: {type: integer, minimum: 1, maximum: 10}}
  - {name: colour, description: Its colour., schema: {type: string, enum: [red, green]}}
  - {name: label, description: Its label., schema: {type: string, pattern: "^[a-z]*$"}}
  - {name: age, description: Its age., behaviour: ReadOnly, schema: {type: integer}}
  requests: [List, Canonicalize, Validate, Check, Refresh]
  providers:
  - {name: plain, command: [./entry]}
  source: {files: {entry: "#!/bin/false"}}
`

// A line is one JSON object of the protocol.
type line map[string]any

// state returns the attributes in an answer, nil if it has none.
func (l line) state() map[string]any {
	s, _ := l["state"].(map[string]any)
	return s
}

// should returns the desired attributes in a request.
func (l line) should() map[string]any {
	s, _ := l["should"].(map[string]any)
	return s
}

// A program keeps entries in memory, and tells one lie.
type program struct {
	has map[string]map[string]any
	lie lie
	now int // a clock that ticks with each process
}

// A lie is what is wrong with a program. Each function may be nil.
type lie struct {
	// instead returns what replaces an answer about a resource, and whether it does. It gets the process, which it may end.
	instead func(p *process, request string, r line) ([]line, bool)
	// change changes the answer about a resource, r.
	change func(request string, r, answer line)
	// rows changes the answers to list.
	rows func([]line) []line
	// ended ends a process that has answered everything.
	ended func(*process)
	hello string // the protocol; "" for the right one
}

// A process is one of a program.
type process struct {
	*program
	out  bytes.Buffer
	code int
	over bool
}

// end ends a process.
func (p *process) end(code int) { p.code, p.over = code, true }

// hung is the exit code of a process that does not end by itself.
const hung = -1

func (p *program) run(cmd host.Cmd) host.Result {
	p.now++
	run := &process{program: p}
	for text := range bytes.Lines(cmd.Stdin) {
		var request struct {
			Request   string
			Resources []line
		}
		if json.Unmarshal(text, &request) != nil {
			run.end(1)
		}
		for _, a := range run.answers(request.Request, request.Resources) {
			run.write(a)
		}
	}
	if p.lie.ended != nil && !run.over {
		p.lie.ended(run)
	}
	return host.Result{Stdout: run.out.Bytes(), ExitCode: run.code, Stderr: []byte("out of luck\n")}
}

func (p *process) write(a line) {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	p.out.Write(append(text, '\n'))
}

func (p *process) answers(request string, resources []line) (all []line) {
	switch {
	case p.over:
		return nil
	case request == "hello":
		protocol := "Fettle/1"
		if p.lie.hello != "" {
			protocol = p.lie.hello
		}
		return []line{{"answer": "hello", "protocol": protocol}}
	case request == "list":
		return p.list()
	case !slices.Contains([]string{"get", "set", "canonicalize", "validate", "check", "refresh"}, request):
		p.end(1)
	}
	for _, r := range resources {
		if p.over {
			return all
		}
		all = append(all, p.about(request, r)...)
	}
	return all
}

func (p *process) about(request string, r line) []line {
	if p.lie.instead != nil {
		if all, ok := p.lie.instead(p, request, r); ok {
			return all
		}
	}
	a := p.answer(request, r)
	if p.lie.change != nil {
		p.lie.change(request, r, a)
	}
	return []line{a}
}

func (p *process) list() []line {
	rows := []line{}
	for _, name := range slices.Sorted(maps.Keys(p.has)) {
		rows = append(rows, line{"answer": "list", "name": name, "state": maps.Clone(p.has[name])})
	}
	if p.lie.rows != nil {
		rows = p.lie.rows(rows)
	}
	return rows
}

func (p *process) answer(request string, r line) line {
	name, _ := r["name"].(string)
	a := line{"answer": request, "name": name}
	switch request {
	case "get":
		if state, ok := p.has[name]; ok {
			a["state"] = maps.Clone(state)
		}
	case "canonicalize":
		state := maps.Clone(r.should())
		if text, ok := state["text"].(string); ok {
			state["text"] = strings.TrimSpace(text)
		}
		a["state"] = state
	case "set":
		p.store(name, r.should())
	}
	return a
}

func (p *process) store(name string, should map[string]any) {
	if should["ensure"] == "absent" {
		delete(p.has, name)
		return
	}
	state := map[string]any{"age": 7}
	maps.Copy(state, p.has[name])
	maps.Copy(state, should)
	p.has[name] = state
}

// killing is a host that kills hung processes at their timeouts, without waiting for these.
type killing struct{ host.Host }

func (k killing) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	res, err := k.Host.Query(ctx, cmd)
	return killed(cmd, res, err)
}

func (k killing) Run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	res, err := k.Host.Run(ctx, cmd)
	return killed(cmd, res, err)
}

func killed(cmd host.Cmd, res host.Result, err error) (host.Result, error) {
	if res.ExitCode == hung {
		return res, fmt.Errorf("killed after its timeout of %s: %w", cmd.Timeout, context.DeadlineExceeded)
	}
	return res, err
}

// test tests a program, and returns a line for each law that it breaks, and how many it holds to.
func test(t *testing.T, l lie) (broken []string, held int) {
	t.Helper()
	read := func(context.Context) ([]byte, error) { return []byte(entry), nil }
	types, faults := manifest.ReadTypes(t.Context(), []source.Source{{Name: "type.yaml", Read: read}})
	if err := manifest.Join(faults); err != nil {
		t.Fatal(err)
	}
	h := hosttest.New(t)
	p := &program{has: map[string]map[string]any{}, lie: l}
	h.Handle("entry", p.run)
	for _, r := range typetest.Run(t.Context(), killing{h}, nil, types, nil) {
		if r.Err != nil {
			broken = append(broken, r.Name+": "+r.Err.Error())
		} else {
			held++
		}
	}
	return broken, held
}
