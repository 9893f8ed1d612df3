package external_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/host"
)

// A registry is a program that has resources in memory. Its functions replace answers.
type registry struct {
	t     *testing.T
	has   map[string]wire.State
	calls []string // the requests of each process, and how many resources they are about

	get   func(wire.Resource) wire.Answer
	set   func(wire.Resource) wire.Answer
	check func(wire.Resource) wire.Answer
	// validate and answers, the states by request, replace answers unless they are nil or "".
	validate func(wire.Resource) wire.Answer
	answers  map[string]string

	canonicalize func(wire.Resource) wire.Answer
	// asked is called with each resource of a request; nil for nothing.
	asked func(request string, r wire.Resource)
	// died is the number of lines after which a process dies; 0 never.
	died int
	// poison is how a process ends that comes to a request about a resource, such as "get z:1": with crash, hang or
	// garbage.
	poison map[string]string
	batch  bool // a process writes nothing before it has all answers
}

// hung is the exit code of a fake process that does not end by itself.
const hung = -1

// run is one process.
func (r *registry) run(cmd host.Cmd) host.Result {
	var out []wire.Answer
	var call []string
	d := json.NewDecoder(bytes.NewReader(cmd.Stdin))
	d.UseNumber()
	for d.More() {
		var q wire.Request
		if err := d.Decode(&q); err != nil {
			r.t.Errorf("the request is not JSON: %v", err)
		}
		if q.Request == wire.Hello {
			out = append(out, wire.Answer{Answer: wire.Hello, Protocol: wire.Protocol})
			continue
		}
		call = append(call, fmt.Sprintf("%s %d", q.Request, len(q.Resources)))
		good := slices.IndexFunc(q.Resources, func(res wire.Resource) bool { return r.poison[q.Request+" "+res.Name] != "" })
		if good < 0 {
			out = append(out, r.answer(q)...)
			continue
		}
		r.calls = append(r.calls, strings.Join(call, ", "))
		how := r.poison[q.Request+" "+q.Resources[good].Name]
		if q.Resources = q.Resources[:good]; !r.batch {
			return r.end(how, append(out, r.answer(q)...))
		}
		return r.end(how, nil)
	}
	r.calls = append(r.calls, strings.Join(call, ", "))
	if r.died > 0 && len(out) > r.died {
		return host.Result{ExitCode: 137, Stdout: lines(out[:r.died]), Stderr: []byte("out of luck\n")}
	}
	return host.Result{Stdout: lines(out)}
}

// end is how a process ends after these answers.
func (r *registry) end(how string, answers []wire.Answer) host.Result {
	switch how {
	case "hang":
		return host.Result{ExitCode: hung, Stdout: lines(answers)}
	case "garbage":
		return host.Result{Stdout: append(lines(answers), "Traceback: out of luck\n"...)}
	}
	return host.Result{ExitCode: 137, Stdout: lines(answers), Stderr: []byte("out of luck\n")}
}

func (r *registry) answer(q wire.Request) []wire.Answer {
	var out []wire.Answer
	if q.Request == wire.List {
		for _, name := range slices.Sorted(maps.Keys(r.has)) {
			out = append(out, wire.Answer{Answer: wire.List, Name: name, State: r.has[name]})
		}
	}
	for _, res := range q.Resources {
		if r.asked != nil {
			r.asked(q.Request, res)
		}
		a := wire.Answer{}
		switch q.Request {
		case wire.Get:
			a = r.read(res)
		case wire.Canonicalize:
			if r.canonicalize != nil {
				a = r.canonicalize(res)
				break
			}
			a.State = maps.Clone(res.Should)
			if text, ok := a.State["comment"].(string); ok {
				a.State["comment"] = strings.ToLower(text)
			}
		case wire.Set:
			a = r.write(res)
		case wire.Check:
			a = r.check(res)
		case wire.Validate:
			a = r.valid(res)
		}
		if state := r.answers[q.Request]; state != "" {
			a = rawAnswer(state)
		}
		a.Answer, a.Name = q.Request, res.Name
		out = append(out, a)
	}
	return out
}

func (r *registry) valid(res wire.Resource) wire.Answer {
	switch {
	case r.validate != nil:
		return r.validate(res)
	case res.Should["comment"] == "refused":
		return wire.Answer{Error: "the service refuses this comment"}
	case res.Should["ensure"] == "absent" && r.has[res.Name]["shape"] == "round":
		return wire.Answer{Error: "in use"}
	}
	return wire.Answer{}
}

func (r *registry) read(res wire.Resource) wire.Answer {
	if r.get != nil {
		a := r.get(res)
		for _, name := range []string{"zone", "id"} {
			if should, asked := res.Should[name]; asked && a.State != nil && a.State[name] == nil {
				a.State[name] = should
			}
		}
		return a
	}
	return wire.Answer{State: r.has[res.Name]}
}

func (r *registry) write(res wire.Resource) wire.Answer {
	if r.set != nil {
		return r.set(res)
	}
	if res.Should["ensure"] == "absent" {
		delete(r.has, res.Name)
		return wire.Answer{}
	}
	next := wire.State{}
	maps.Copy(next, r.has[res.Name])
	maps.Copy(next, res.Should)
	delete(next, "token")
	r.has[res.Name] = next
	return wire.Answer{Notes: []string{"stored " + res.Name}}
}

// lines encodes answers as a program writes them: without what is empty.
func lines(answers []wire.Answer) []byte {
	var out bytes.Buffer
	for _, a := range answers {
		line := map[string]any{"answer": a.Answer, "name": a.Name}
		if a.Protocol != "" {
			line["protocol"] = a.Protocol
		}
		if a.State != nil {
			line["state"] = a.State
		}
		if a.Error != "" {
			line["error"] = a.Error
		}
		if a.Errors != nil {
			line["errors"] = a.Errors
		}
		if a.Notes != nil {
			line["notes"] = a.Notes
		}
		verdicts := map[string]any{}
		for name, v := range a.InSync {
			verdicts[name] = []any{v.InSync, v.Message}
		}
		if len(verdicts) > 0 {
			line["inSync"] = verdicts
		}
		text, err := json.Marshal(line)
		if err != nil {
			panic(err)
		}
		out.Write(append(text, '\n'))
	}
	return out.Bytes()
}
