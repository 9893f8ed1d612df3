package laws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/host"
)

// marker is the value of secrets.
const marker = "secret-marker-4f1c"

func secretsStaySecret(ctx context.Context, p Program, resources []wire.Resource) error {
	all := p.withSecrets(resources)
	if len(all) == 0 {
		return nil
	}
	requests := []wire.Request{{Request: wire.Get, Resources: all}}
	if p.Definition.Answers(v1alpha1.RequestCheck) {
		requests = append(requests, wire.Request{Request: wire.Check, Resources: all})
	}
	lines, err := wire.Encode(requests...)
	if err != nil {
		return err
	}
	res, err := p.ask(ctx, string(lines))
	if err != nil {
		return err
	}
	return noMarker(res)
}

// SecretsStaySecretInSet returns an error if the program shows a secret while it changes resources, whether it succeeds or
// not. It leaves resources with other secrets than they had.
func SecretsStaySecretInSet(ctx context.Context, p Program, resources []wire.Resource) error {
	all := p.withSecrets(resources)
	if len(all) == 0 {
		return nil
	}
	is, err := p.answers(ctx, wire.Request{Request: wire.Get, Resources: all})
	if err != nil {
		return err
	}
	for i := range all {
		if answer, err := is.Of(wire.Get, all[i].Name); err == nil { // another law is about errors
			all[i].Is = answer.State
		}
	}
	request, err := wire.Encode(p.hello(), wire.Request{Request: wire.Set, Resources: all})
	if err != nil {
		return err
	}
	cmd := p.command(request)
	cmd.Confinement.ReadOnly = false
	res, err := p.Host.Run(ctx, cmd)
	if err != nil {
		return err
	}
	return noMarker(res)
}

// withSecrets returns resources whose sensitive text is the marker, which all of it has changed to; none if there is no
// sensitive text.
func (p Program) withSecrets(resources []wire.Resource) []wire.Resource {
	var all []wire.Resource
	for _, r := range resources {
		out := wire.Resource{Name: r.Name, Should: maps.Clone(r.Should), Related: r.Related}
		for i := range p.Definition.Spec.Attributes {
			if at := &p.Definition.Spec.Attributes[i]; at.Sensitive && definition.SchemaType(at) == "string" {
				out.Should[at.Name] = marker
				out.Sensitive = append(out.Sensitive, at.Name)
			}
		}
		if out.Changes = out.Sensitive; len(out.Sensitive) > 0 {
			all = append(all, out)
		}
	}
	return all
}

// noMarker returns an error if people could see the value of a secret.
func noMarker(res host.Result) error {
	if strings.Contains(string(res.Stderr), marker) {
		return errors.New("a sensitive value is in the output to stderr")
	}
	for line := range strings.Lines(string(res.Stdout)) {
		var answer wire.Answer
		if json.Unmarshal([]byte(line), &answer) != nil {
			continue // another law is about it
		}
		shown := slices.Concat(answer.Notes, []string{answer.Error})
		shown = slices.AppendSeq(shown, maps.Values(answer.Errors))
		for _, v := range answer.InSync {
			shown = append(shown, v.Message)
		}
		if strings.Contains(strings.Join(shown, "\n"), marker) {
			return fmt.Errorf("a sensitive value is in the errors or notes of %q", answer.Name)
		}
	}
	return nil
}
