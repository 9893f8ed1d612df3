package laws

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/wire"
)

// plainName is a name that no resource has.
const plainName = "fettle-no-such-resource"

// oddNames are names that careless programs misread.
func oddNames() []string {
	return []string{
		"-n", "--help", "a b", "a'b\"c", "$(touch fettle)", "`touch fettle`", "a;b|c&d", "*", "a\\b", "a\nb", "../../etc/passwd", "%s%n",
		"\u00e4\u00f6\u00fc", "\u202e", strings.Repeat("x", 5000),
	}
}

// getAnswersOtherNames asks about names that the type allows and that no resource has. A program may refuse an odd name, but not
// a plain one, and not because of another one.
func getAnswersOtherNames(ctx context.Context, p Program, resources []wire.Resource) error {
	example := wire.Resource{Name: resources[0].Name, Should: p.removal(resources[0].Should), Related: resources[0].Related}
	all := append([]wire.Resource{example}, p.renamed(example, append([]string{plainName}, oddNames()...))...)
	answers, err := p.answers(ctx, wire.Request{Request: wire.Get, Resources: all})
	if err != nil {
		return p.firstFailure(ctx, all, err)
	}
	state := func(r wire.Resource) (wire.State, error) {
		answer, err := answers.Of(wire.Get, r.Name)
		if answer.Error != "" && !strings.HasPrefix(r.Name, plainName) {
			err = nil // refused
		}
		return answer.State, err
	}
	is, err := state(example)
	if err != nil {
		return err
	}
	for _, r := range all[1:] {
		other, err := state(r)
		switch {
		case err != nil:
			return fmt.Errorf("with the name %.40q: %w", r.Name, err)
		case other != nil && is == nil: // the name identifies resources, and none exists
			return fmt.Errorf("%.40q exists, but nobody created it: %v", r.Name, other)
		}
	}
	return nil
}

// firstFailure returns the error of the first resource that the program fails with alone, or err if there is none.
func (p Program) firstFailure(ctx context.Context, all []wire.Resource, err error) error {
	for _, r := range all {
		if _, alone := p.answers(ctx, wire.Request{Request: wire.Get, Resources: []wire.Resource{r}}); alone != nil {
			return fmt.Errorf("with the name %.40q: %w", r.Name, alone)
		}
	}
	return err
}

// renamed returns the resource under other names, as far as its first Namevar that is text may have them.
func (p Program) renamed(r wire.Resource, names []string) []wire.Resource {
	of := p.Definition.Namevars()
	i := slices.IndexFunc(of, func(a v1alpha1.ExternalAttribute) bool { return allows(&a, plainName) })
	if i < 0 {
		return nil
	}
	var all []wire.Resource
	for _, name := range names {
		if !allows(&of[i], name) {
			continue
		}
		other := wire.Resource{Should: maps.Clone(r.Should), Related: r.Related}
		other.Should[of[i].Name] = name
		other.Name = p.nameOf(other.Should)
		all = append(all, other)
	}
	return all
}

// allows reports whether the schema of an attribute allows a text. It does not know formats and rules.
func allows(at *v1alpha1.ExternalAttribute, text string) bool {
	var s struct {
		Pattern   string `json:"pattern"`
		MaxLength *int   `json:"maxLength"`
		MinLength int    `json:"minLength"`
		Format    string `json:"format"`
		Rules     []any  `json:"x-kubernetes-validations"`
		AllOf     []any  `json:"allOf"`
		AnyOf     []any  `json:"anyOf"`
		OneOf     []any  `json:"oneOf"`
	}
	if definition.SchemaType(at) != "string" || definition.Enum(at) != nil || json.Unmarshal(at.Schema.Raw, &s) != nil {
		return false
	}
	if s.Format != "" || len(s.Rules)+len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0 {
		return false
	}
	pattern, err := regexp.Compile(s.Pattern)
	length := utf8.RuneCountInString(text)
	return err == nil && pattern.MatchString(text) && length >= s.MinLength && (s.MaxLength == nil || length <= *s.MaxLength)
}
