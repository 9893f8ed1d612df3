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
	"github.com/fettle-dev/fettle/internal/external/translation"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

// planted are the texts that sensitive attributes get, the first of each that their schemas allow. Programs that print them as their
// language writes values print other characters.
func planted() [][]string {
	return [][]string{
		{`secret-marker-4f1c "quoted" \ and ` + "\u00fc", "secret-marker-4f1c", "secretmarker4f1c", "SECRETMARKER"},
		{`another-marker-9b3e 'quoted' \ and ` + "\u00e9", "another-marker-9b3e", "anothermarker9b3e", "ANOTHERMARKER"},
	}
}

// plantedNumbers are the sensitive numbers.
func plantedNumbers() []json.Number { return []json.Number{"481516", "2342108"} }

func secretsStaySecret(ctx context.Context, p Program, resources []wire.Resource) error {
	all := p.withSecrets(resources, 0)
	if len(all) == 0 {
		return nil
	}
	changed := slices.Clone(all)
	for i := range changed {
		changed[i].Is, changed[i].Changes = resources[i].Should, changed[i].Sensitive
	}
	for _, request := range []wire.Request{
		{Request: wire.Get, Resources: all}, {Request: wire.Check, Resources: all}, {Request: wire.Canonicalize, Resources: all}, {Request: wire.Validate, Resources: changed},
	} {
		if request.Request != wire.Get && !p.Definition.Answers(optional(request.Request)) {
			continue
		}
		line, err := p.encode(request)
		if err != nil {
			return err
		}
		res, err := p.ask(ctx, string(line))
		if err != nil {
			return err
		}
		if err := p.requireNoLeak(res, request.Resources); err != nil {
			return err
		}
	}
	return nil
}

// optional returns a request as a type declares it.
func optional(request string) v1alpha1.ExternalRequest {
	return map[string]v1alpha1.ExternalRequest{
		wire.Check: v1alpha1.RequestCheck, wire.Canonicalize: v1alpha1.RequestCanonicalize, wire.Validate: v1alpha1.RequestValidate,
	}[request]
}

// SecretsStaySecretInSet returns an error if the program shows a secret while it changes resources, whether it succeeds or
// not: desired ones, and those that it replaces. It leaves resources with other secrets than they had.
func SecretsStaySecretInSet(ctx context.Context, p Program, resources []wire.Resource) error {
	for n := range planted() {
		all := p.withSecrets(resources, n)
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
			all[i].Changes = all[i].Sensitive
		}
		request, err := p.encode(p.hello(), wire.Request{Request: wire.Set, Resources: all})
		if err != nil {
			return err
		}
		cmd := p.command(request)
		cmd.Confinement.ReadOnly = false
		res, err := p.Host.Run(ctx, cmd)
		if err != nil {
			return err
		}
		if err := p.requireNoLeak(res, all); err != nil {
			return err
		}
	}
	return nil
}

// withSecrets returns resources with other values of their sensitive attributes; none if the type has no such attribute.
func (p Program) withSecrets(resources []wire.Resource, n int) []wire.Resource {
	var all []wire.Resource
	for _, r := range resources {
		out := wire.Resource{Name: r.Name, Should: maps.Clone(r.Should), Related: r.Related}
		for i := range p.Definition.Spec.Attributes {
			at := &p.Definition.Spec.Attributes[i]
			if !at.Sensitive || at.Behaviour == v1alpha1.BehaviourReadOnly {
				continue
			}
			out.Sensitive = append(out.Sensitive, at.Name)
			if value := p.secretFor(at, r.Should[at.Name], n); value != nil {
				out.Should[at.Name] = value
			}
		}
		if len(out.Sensitive) > 0 {
			all = append(all, out)
		}
	}
	return all
}

// secretFor returns a value of an attribute that contains a planted text or number, if its schema allows one, and otherwise the value that it
// has.
func (p Program) secretFor(at *v1alpha1.ExternalAttribute, value any, n int) any {
	for _, text := range planted()[n] {
		for _, candidate := range []any{replaced(value, text, n), text, plantedNumbers()[n], []any{text}, map[string]any{"key": text}} {
			if candidate != nil && p.Definition.Conforms(at, candidate) == nil {
				return candidate
			}
		}
	}
	return value
}

// replaced returns a value with a text for every text in it, and a number for every number.
func replaced(value any, text string, n int) any {
	switch v := value.(type) {
	case string:
		return text
	case json.Number:
		return plantedNumbers()[n]
	case []any:
		all := make([]any, len(v))
		for i, e := range v {
			all[i] = replaced(e, text, n)
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(v))
		for name, e := range v {
			all[name] = replaced(e, text, n)
		}
		return all
	}
	return value
}

// requireNoLeak returns an error if people could see a secret of resources in the output of a process that was asked about them, in whatever
// encoding: desired ones, present ones, and those in the answers.
func (p Program) requireNoLeak(res host.Result, resources []wire.Resource) error {
	var answers []wire.Answer
	for line := range strings.Lines(string(res.Stdout)) {
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		var answer wire.Answer
		if d.Decode(&answer) == nil { // another law is about lines that are no answer
			answers = append(answers, answer)
		}
	}
	secrets := p.secretsOf(resources, answers)
	leaks := func(v any) bool { return fmt.Sprint(secrets.Value(v)) != fmt.Sprint(v) }
	if leaks(string(res.Stderr)) {
		return errors.New("a sensitive value is in the output to stderr")
	}
	for _, answer := range answers {
		if leaks(textsOf(answer)) {
			return fmt.Errorf("a sensitive value is in the errors or notes of %q", answer.Name)
		}
		if name := p.leakedAttribute(answer, resources, leaks); name != "" {
			return fmt.Errorf("a sensitive value is in the attribute %s of %q, which is not sensitive", name, answer.Name)
		}
	}
	return nil
}

// leakedAttribute returns an attribute of a state that is not sensitive, and has a sensitive value that was not asked for; "" if there is none.
func (p Program) leakedAttribute(answer wire.Answer, resources []wire.Resource, leaks func(any) bool) string {
	for _, name := range slices.Sorted(maps.Keys(answer.State)) {
		wanted := slices.ContainsFunc(resources, func(r wire.Resource) bool {
			return translation.Name(p.Definition, r) == answer.Name && leaks(r.Should[name])
		})
		if !wanted && !p.isSensitive(name) && leaks(answer.State[name]) {
			return name
		}
	}
	return ""
}

// textsOf returns what people see of an answer.
func textsOf(answer wire.Answer) string {
	shown := slices.Concat(answer.Notes, []string{answer.Error})
	shown = slices.AppendSeq(shown, maps.Values(answer.Errors))
	for _, v := range answer.InSync {
		shown = append(shown, v.Message)
	}
	return strings.Join(shown, "\n")
}

// secretsOf returns the values of sensitive attributes.
func (p Program) secretsOf(resources []wire.Resource, answers []wire.Answer) redact.Secrets {
	var values []any
	add := func(s wire.State) {
		for name, value := range s {
			if p.isSensitive(name) {
				values = append(values, value)
			}
		}
	}
	for _, r := range resources {
		add(r.Should)
		add(r.Is)
	}
	for _, answer := range answers {
		add(answer.State)
	}
	return redact.Of(values...)
}

func (p Program) isSensitive(name string) bool {
	return slices.ContainsFunc(p.Definition.Spec.Attributes, func(at v1alpha1.ExternalAttribute) bool { return at.Name == name && at.Sensitive })
}
