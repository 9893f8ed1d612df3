// Package laws checks what the program of an external type must hold to, whatever it manages.
package laws

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/contract"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/translation"
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
	// Removable means that the provider can remove resources.
	Removable bool
}

// A Law is a check of a program with resources that its type allows.
type Law struct {
	Name  string
	Check func(ctx context.Context, p Program, resources []wire.Resource) error
}

// Always returns the laws of programs that only read, whether or not the resources exist.
func Always() []Law {
	return []Law{
		{"get answers each name, with the same state each time", getIsStable},
		{"canonicalize is idempotent, and leaves the output of get as it is", canonicalizeIsIdempotent},
		{"get reads a resource that does not exist", getReadsAbsence},
		{"check answers each name, without an error", checkAllowsTheRun},
		{"validate answers each name, and allows the example", validateAllowsTheExample},
		{"list has what get finds, and get finds what list has", listAgreesWithGet},
		{"get answers other names", getAnswersOtherNames},
		{"unknown requests are refused or ignored", unknownRequestsAreRefused},
		{"invalid input ends the program", garbageEndsTheProgram},
		{"secrets are in no answer's errors and notes", secretsStaySecret},
	}
}

// OfMissing returns the laws for the time before set has created the resources.
func OfMissing() []Law {
	return []Law{{"get returns the present state, not the desired one", getIsNoEcho}}
}

// OfExisting returns the laws for the time after set has created the resources. They change the host.
func OfExisting() []Law {
	return []Law{
		{"get returns values that the type allows", getConforms},
		{"refresh answers each name, without an error", refreshAnswers},
		{"set leaves attributes that are not managed", setLeavesTheRest},
	}
}

func (p Program) hello() wire.Request {
	return wire.Request{Request: wire.Hello, Protocol: wire.Protocol, Kind: p.Definition.Spec.ProgramKind, Version: p.Definition.Spec.Version, Provider: p.Provider}
}

// encode returns the lines of requests.
func (p Program) encode(requests ...wire.Request) ([]byte, error) {
	return wire.Encode(translation.Requests(p.Definition, requests)...)
}

// limit is how long a process may take.
func (p Program) limit() time.Duration {
	const most = 30 * time.Second
	return min(most, p.Definition.Spec.TimeoutSeconds.Duration())
}

// command runs the program to read.
func (p Program) command(stdin []byte) host.Cmd {
	confinement := contract.Confined()
	confinement.ReadOnly = true
	confinement.Network, confinement.Sockets = p.Definition.Spec.Access.Network, p.Definition.Spec.Access.Sockets
	return host.Cmd{
		Args: p.Command, Dir: p.Dir, Stdin: stdin, MaxOutput: contract.MaxOutput, Timeout: p.limit(), Confinement: confinement,
	}
}

// ask runs the program with lines after hello.
func (p Program) ask(ctx context.Context, lines ...string) (host.Result, error) {
	hello, err := p.encode(p.hello())
	if err != nil {
		return host.Result{}, err
	}
	return p.Host.Query(ctx, p.command([]byte(string(hello)+strings.Join(lines, ""))))
}

// answers asks for something, and returns the decoded answers.
func (p Program) answers(ctx context.Context, requests ...wire.Request) (wire.Answers, error) {
	lines, err := p.encode(requests...)
	if err != nil {
		return wire.Answers{}, err
	}
	answers, err := decoded(p.ask(ctx, string(lines)))
	return translation.Answers(p.Definition, requests, answers), err
}

// change is answers for a request that changes the host.
func (p Program) change(ctx context.Context, request wire.Request) (wire.Answers, error) {
	requests := []wire.Request{p.hello(), request}
	lines, err := p.encode(requests...)
	if err != nil {
		return wire.Answers{}, err
	}
	cmd := p.command(lines)
	cmd.Confinement.ReadOnly = false
	answers, err := decoded(p.Host.Run(ctx, cmd))
	return translation.Answers(p.Definition, requests, answers), err
}

// decoded returns the answers in the output of a process that ended well.
func decoded(res host.Result, err error) (wire.Answers, error) {
	if err != nil {
		return wire.Answers{}, err
	}
	if res.ExitCode != 0 {
		return wire.Answers{}, fmt.Errorf("the program exited with %d: %s", res.ExitCode, strings.TrimSpace(string(res.Stderr)))
	}
	res, err = contract.Bounded(res)
	if err != nil {
		return wire.Answers{}, fmt.Errorf("the program %w", err)
	}
	a := wire.Decode(res.Stdout)
	return a, a.Err
}

// states returns the states of resources, in the same order.
func (p Program) states(ctx context.Context, resources []wire.Resource) ([]wire.State, error) {
	answers, err := p.answers(ctx, wire.Request{Request: wire.Get, Resources: resources})
	if err != nil {
		return nil, err
	}
	all := make([]wire.State, len(resources))
	for i, r := range resources {
		answer, err := answers.Of(wire.Get, r.Name)
		if err != nil {
			return nil, err
		}
		if answer.State["ensure"] != absent { // the same as null
			all[i] = answer.State
		}
	}
	return all, nil
}

// absent is the value of ensure of resources that do not exist.
const absent = "absent"

// removal returns the attributes with which Fettle removes a resource that is no longer declared.
func (p Program) removal(should wire.State) wire.State {
	out := wire.State{"ensure": absent}
	for i := range p.Definition.Spec.Attributes {
		at := &p.Definition.Spec.Attributes[i]
		remains := at.Behaviour == v1alpha1.BehaviourNamevar || at.Behaviour == v1alpha1.BehaviourParameter && !at.Sensitive
		if value, ok := should[at.Name]; ok && remains {
			out[at.Name] = value
		}
	}
	return out
}

// removals returns the resources as they are removed.
func (p Program) removals(resources []wire.Resource) []wire.Resource {
	all := slices.Clone(resources)
	for i := range all {
		all[i].Should = p.removal(all[i].Should)
	}
	return all
}

// nameOf returns the name of the resource with these attributes.
func (p Program) nameOf(state wire.State) string { return p.Definition.NameOf(state) }
