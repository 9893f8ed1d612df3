// Package laws checks what the program of an external type must hold to, whatever it manages.
package laws

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/host"
)

// A Program is a provider's command on a host.
type Program struct {
	Host       host.Host
	Definition *definition.Definition
	Provider   string
	// Command has the path of the program on the host, and Dir the directory with its files.
	Command []string
	Dir     string
}

// A Law is a check of a program with resources that its type allows.
type Law struct {
	Name  string
	Check func(ctx context.Context, p Program, resources []wire.Resource) error
}

// All returns the laws of programs that only read.
func All() []Law {
	return []Law{
		{"get answers each name, with the same state each time", getIsStable},
		{"canonicalize is idempotent, and leaves the output of get as it is", canonicalizeIsIdempotent},
		{"get reads a resource that does not exist", getReadsAbsence},
		{"check answers each name, without an error", checkAllowsTheRun},
		{"get answers other names", getAnswersOtherNames},
		{"unknown requests are refused or ignored", unknownRequestsAreRefused},
		{"invalid input ends the program", garbageEndsTheProgram},
		{"secrets are in no answer's errors and notes", secretsStaySecret},
	}
}

// limit is how long a process may take.
const limit = 30 * time.Second

func (p Program) hello() wire.Request {
	return wire.Request{Request: wire.Hello, Protocol: wire.Protocol, Kind: p.Definition.Spec.ProgramKind, Version: p.Definition.Spec.Version, Provider: p.Provider}
}

// command runs the program to read.
func (p Program) command(stdin []byte) host.Cmd {
	access := p.Definition.Spec.Access
	const maxOutput, maxMemory, maxTasks = 16 << 20, 512 << 20, 256
	return host.Cmd{
		Args: p.Command, Dir: p.Dir, Stdin: stdin, MaxOutput: maxOutput, Timeout: limit,
		Confinement: &host.Confinement{ReadOnly: true, Network: access.Network, Sockets: access.Sockets, Memory: maxMemory, Tasks: maxTasks},
	}
}

// ask runs the program with lines after hello.
func (p Program) ask(ctx context.Context, lines ...string) (host.Result, error) {
	hello, err := wire.Encode(p.hello())
	if err != nil {
		return host.Result{}, err
	}
	return p.Host.Query(ctx, p.command([]byte(string(hello)+strings.Join(lines, ""))))
}

// answers asks for something, and returns the decoded answers.
func (p Program) answers(ctx context.Context, requests ...wire.Request) (wire.Answers, error) {
	lines, err := wire.Encode(requests...)
	if err != nil {
		return wire.Answers{}, err
	}
	res, err := p.ask(ctx, string(lines))
	if err != nil {
		return wire.Answers{}, err
	}
	if res.ExitCode != 0 {
		return wire.Answers{}, fmt.Errorf("the program exited with %d: %s", res.ExitCode, strings.TrimSpace(string(res.Stderr)))
	}
	a := wire.Decode(res.Stdout)
	return a, a.Err
}

func getIsStable(ctx context.Context, p Program, resources []wire.Resource) error {
	get := wire.Request{Request: wire.Get, Resources: resources}
	first, err := p.answers(ctx, get)
	if err != nil {
		return err
	}
	second, err := p.answers(ctx, get)
	if err != nil {
		return err
	}
	for _, r := range resources {
		one, err := first.Of(wire.Get, r.Name)
		if err != nil {
			return err
		}
		if two, err := second.Of(wire.Get, r.Name); err != nil || !reflect.DeepEqual(one.State, two.State) {
			return fmt.Errorf("two reads of %q differ: %v and %v %w", r.Name, one.State, two.State, err)
		}
	}
	return nil
}

func canonicalizeIsIdempotent(ctx context.Context, p Program, resources []wire.Resource) error {
	if !p.Definition.Answers(v1alpha1.RequestCanonicalize) {
		return nil
	}
	read, err := p.answers(ctx, wire.Request{Request: wire.Get, Resources: resources})
	if err != nil {
		return err
	}
	forms := slices.Clone(resources)
	once, err := p.canonicalized(ctx, forms)
	if err != nil {
		return err
	}
	for _, r := range resources {
		answer, err := read.Of(wire.Get, r.Name)
		if err != nil {
			return err
		}
		if answer.State != nil {
			once = append(once, wire.Resource{Name: r.Name, Should: answer.State, Related: r.Related})
		}
	}
	for _, r := range once { // one by one: the same name occurs twice
		again, err := p.canonicalized(ctx, []wire.Resource{r})
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(again[0].Should, r.Should) {
			return fmt.Errorf("canonicalize of %q changes a canonical state: %v becomes %v", r.Name, r.Should, again[0].Should)
		}
	}
	return nil
}

// canonicalized returns resources in canonical form.
func (p Program) canonicalized(ctx context.Context, resources []wire.Resource) ([]wire.Resource, error) {
	answers, err := p.answers(ctx, wire.Request{Request: wire.Canonicalize, Resources: resources})
	if err != nil {
		return nil, err
	}
	all := slices.Clone(resources)
	for i, r := range all {
		answer, err := answers.Of(wire.Canonicalize, r.Name)
		if err != nil {
			return nil, err
		}
		all[i].Should = answer.State
	}
	return all, nil
}

func getReadsAbsence(ctx context.Context, p Program, resources []wire.Resource) error {
	var all []wire.Resource
	for _, r := range resources {
		all = append(all, wire.Resource{Name: r.Name, Should: p.removal(r), Related: r.Related})
	}
	answers, err := p.answers(ctx, wire.Request{Request: wire.Get, Resources: all})
	if err != nil {
		return err
	}
	for _, r := range all {
		if _, err := answers.Of(wire.Get, r.Name); err != nil {
			return fmt.Errorf("with only its Namevars and Parameters: %w", err)
		}
	}
	return nil
}

func checkAllowsTheRun(ctx context.Context, p Program, resources []wire.Resource) error {
	if !p.Definition.Answers(v1alpha1.RequestCheck) {
		return nil
	}
	answers, err := p.answers(ctx, wire.Request{Request: wire.Check, Resources: resources})
	if err != nil {
		return err
	}
	for _, r := range resources {
		if _, err := answers.Of(wire.Check, r.Name); err != nil {
			return fmt.Errorf("%q of the example would prevent each run: %w", r.Name, err)
		}
	}
	return nil
}

// removal returns the attributes with which Fettle removes a resource that is no longer declared.
func (p Program) removal(r wire.Resource) wire.State {
	should := wire.State{"ensure": "absent"}
	for i := range p.Definition.Spec.Attributes {
		at := &p.Definition.Spec.Attributes[i]
		remains := at.Behaviour == v1alpha1.BehaviourNamevar || at.Behaviour == v1alpha1.BehaviourParameter && !at.Sensitive
		if value, ok := r.Should[at.Name]; ok && remains {
			should[at.Name] = value
		}
	}
	return should
}

func unknownRequestsAreRefused(ctx context.Context, p Program, resources []wire.Resource) error {
	lines, err := wire.Encode(wire.Request{Request: "fly", Resources: resources[:1]})
	if err != nil {
		return err
	}
	res, err := p.ask(ctx, string(lines))
	if err != nil || res.ExitCode != 0 {
		return err // it refused
	}
	if answer, err := wire.Decode(res.Stdout).Of("fly", resources[0].Name); err == nil {
		return fmt.Errorf("the program answered a request that does not exist: %+v", answer)
	}
	return nil
}

func garbageEndsTheProgram(ctx context.Context, p Program, _ []wire.Resource) error {
	for _, garbage := range []string{"\x00\xff\n", "not JSON\n", "[]\n", `{"request":` + "\n"} {
		res, err := p.ask(ctx, garbage)
		if err != nil {
			return fmt.Errorf("with %q as input: %w", garbage, err)
		}
		if res.ExitCode == 0 {
			return fmt.Errorf("the program ignored %q: exit with another code than 0", garbage)
		}
	}
	return nil
}
