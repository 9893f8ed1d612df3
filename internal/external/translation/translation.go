// Package translation translates requests and answers between a type and its program, if the program has Namevars with other
// names or values.
package translation

import (
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/wire"
)

// Requests returns requests as the program understands them.
func Requests(d *definition.Definition, all []wire.Request) []wire.Request {
	if !d.Translates() {
		return all
	}
	out := slices.Clone(all)
	for i := range out {
		out[i].Resources = make([]wire.Resource, len(all[i].Resources))
		for n, r := range all[i].Resources {
			out[i].Resources[n] = resource(d, r)
		}
	}
	return out
}

func resource(d *definition.Definition, r wire.Resource) wire.Resource {
	r.Name = Name(d, r)
	r.Should, r.Is = d.ProgramState(r.Should), d.ProgramState(r.Is)
	r.Sensitive, r.Changes = each(r.Sensitive, d.ProgramAttribute), each(r.Changes, d.ProgramAttribute)
	return r
}

// Name returns the program's name of a resource. One whose Namevars are incomplete keeps its own.
func Name(d *definition.Definition, r wire.Resource) string {
	if name := d.ProgramResource(r.Should); name != "" {
		return name
	}
	return r.Name
}

// Answers returns answers to requests as resources of the kind have them. What no resource of the kind can be is left out of a list, and an
// error of another answer.
func Answers(d *definition.Definition, requests []wire.Request, answers wire.Answers) wire.Answers {
	if !d.Translates() {
		return answers
	}
	own := map[string]string{}
	for _, request := range requests {
		for _, r := range request.Resources {
			own[Name(d, r)] = r.Name
		}
	}
	return answers.Translated(func(a wire.Answer) (wire.Answer, bool) {
		return listed(d, a)
	}, func(a wire.Answer) wire.Answer {
		if name, ok := own[a.Name]; ok {
			a.Name = name
		}
		return answer(d, a)
	})
}

func listed(d *definition.Definition, a wire.Answer) (wire.Answer, bool) {
	state, foreign := d.OwnState(a.State)
	if a.Name == d.ProgramResource(state) {
		a.Name = d.NameOf(state)
	}
	a.State = state
	return a, foreign == ""
}

func answer(d *definition.Definition, a wire.Answer) wire.Answer {
	a.InSync, a.Errors = keys(a.InSync, d.OwnAttribute), keys(a.Errors, d.OwnAttribute)
	state, foreign := d.OwnState(a.State)
	if foreign != "" && a.Error == "" {
		a.Error = fmt.Sprintf("the program answered with the %s %.80q, which no %s has", foreign, fmt.Sprint(a.State[foreign]), d.Spec.Kind)
	}
	a.State = state
	return a
}

func each(all []string, change func(string) string) []string {
	out := make([]string, len(all))
	for i, name := range all {
		out[i] = change(name)
	}
	return out
}

func keys[V any](all map[string]V, change func(string) string) map[string]V {
	out := make(map[string]V, len(all))
	for name, v := range all {
		out[change(name)] = v
	}
	return out
}
