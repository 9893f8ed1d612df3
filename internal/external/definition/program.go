package definition

import (
	"maps"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Translates reports whether the program has Namevars with other names or values than resources have.
func (d *Definition) Translates() bool { return translates(&d.Spec) }

func translates(s *v1alpha1.ExternalTypeSpec) bool {
	for i := range s.Attributes {
		if s.Attributes[i].ProgramName != "" || s.Attributes[i].ProgramValue != "" {
			return true
		}
	}
	return false
}

// ProgramAttribute returns the program's name of an attribute.
func (d *Definition) ProgramAttribute(name string) string {
	for i := range d.Spec.Attributes {
		if d.Spec.Attributes[i].Name == name {
			return programName(&d.Spec.Attributes[i])
		}
	}
	return name
}

// OwnAttribute is the inverse of ProgramAttribute.
func (d *Definition) OwnAttribute(programs string) string {
	for i := range d.Spec.Attributes {
		if programName(&d.Spec.Attributes[i]) == programs {
			return d.Spec.Attributes[i].Name
		}
	}
	return programs
}

func programName(at *v1alpha1.ExternalAttribute) string {
	if at.ProgramName != "" {
		return at.ProgramName
	}
	return at.Name
}

// ProgramState returns the attributes of a resource as the program has them. It may return its argument.
func (d *Definition) ProgramState(values map[string]any) map[string]any {
	if !d.Translates() || values == nil {
		return values
	}
	out := make(map[string]any, len(values))
	for name, value := range values {
		out[d.ProgramAttribute(name)] = value
	}
	for _, at := range d.Namevars() {
		if text, ok := values[at.Name].(string); ok && at.ProgramValue != "" {
			before, after := around(&at, values)
			out[programName(&at)] = before + text + after
		}
	}
	return out
}

// OwnState is the inverse of ProgramState. It returns the program's name of a Namevar whose value no resource of the kind can have; ""
// if there is none.
func (d *Definition) OwnState(programs map[string]any) (values map[string]any, foreign string) {
	if !d.Translates() || programs == nil {
		return programs, ""
	}
	out := make(map[string]any, len(programs))
	for name, value := range programs {
		out[d.OwnAttribute(name)] = value
	}
	whole := maps.Clone(out)
	for _, at := range d.Namevars() {
		text, ok := whole[at.Name].(string)
		if !ok || at.ProgramValue == "" {
			continue
		}
		before, after := around(&at, whole)
		own, ok := between(text, before, after, at.CaseInsensitive)
		if !ok {
			return nil, programName(&at)
		}
		out[at.Name] = own
	}
	return out, ""
}

// around returns what surrounds the value of a Namevar in the program's value.
func around(at *v1alpha1.ExternalAttribute, values map[string]any) (before, after string) {
	before, after, _ = strings.Cut(at.ProgramValue, placeholder(at.Name))
	for name, value := range values {
		if name != at.Name && value != nil {
			filled := strings.NewReplacer(placeholder(name), textOf(value))
			before, after = filled.Replace(before), filled.Replace(after)
		}
	}
	return before, after
}

func placeholder(name string) string { return "{" + name + "}" }

func between(text, before, after string, ignoreCase bool) (string, bool) {
	if len(text) < len(before)+len(after) {
		return "", false
	}
	same := func(a, b string) bool { return a == b || ignoreCase && strings.EqualFold(a, b) }
	end := len(text) - len(after)
	return text[len(before):end], same(text[:len(before)], before) && same(text[end:], after)
}
