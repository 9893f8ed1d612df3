// Package puppet answers what people from Puppet write with what Fettle has in its place: attributes, values, kinds and references.
//
// The tables in this package are the only ones. Messages are made from them, and the one in docs/from-puppet.md is compared with them.
package puppet

import (
	"fmt"
	"slices"
	"strings"
)

// An Attribute of a type of Puppet that has another name in Fettle, other values, or no counterpart.
type Attribute struct {
	Name  string // in Puppet
	Field string // Fettle's; "" if there is none
	Note  string // how its values differ, or what to use instead; "" if only the name differs
}

// A Type is a type of Puppet, with the attributes that differ.
type Type struct {
	Name, Kind string
	// respelled are attributes that Fettle has in its own style: refreshonly is refreshOnly, try_sleep is trySleepSeconds.
	respelled []string
	others    []Attribute
}

// Attributes returns the attributes that differ, in the order of their names. fields are those of the kind's spec.
func (t Type) Attributes(fields []string) []Attribute {
	all := slices.Clone(t.others)
	for _, name := range t.respelled {
		all = append(all, Attribute{Name: name, Field: respelled(name, fields)})
	}
	for i, a := range all {
		if a.Field == derived {
			all[i].Field = respelled(a.Name, fields)
		}
	}
	slices.SortFunc(all, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// respelled returns the field that is an attribute in Fettle's style; "" if there is none.
func respelled(name string, fields []string) string {
	for _, field := range fields {
		if is := plain(field); is == plain(name) || is == plain(name)+"seconds" {
			return field
		}
	}
	return ""
}

// plain removes differences in style.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// Field answers an unknown field of a kind's spec: "Puppet's timeout is timeoutSeconds". It returns "" if Puppet has no such
// attribute. fields are those of the kind's spec.
func Field(kind, name string, fields []string) string {
	for _, t := range Types() {
		if t.Kind != kind && t.Kind != "" {
			continue
		}
		for _, a := range t.Attributes(fields) {
			if a.Name == name {
				return a.answer()
			}
		}
	}
	return others(name, fields)
}

// others answers an attribute that a kind has under another name in other tools; "" if it has not.
func others(name string, fields []string) string {
	for _, w := range []struct{ whose, names, field, note string }{
		{"Ansible", "state", "ensure", ""},
		{"Ansible", "dest", "path", ""},
		{"Ansible", "src", "source", ""},
		{"Chef", "version", "ensure", "it also takes versions"},
		{"Salt", "user", "owner", ""},
		{"Terraform", "dependsOn depends_on", "require", "list resources as KIND/NAME"},
	} {
		if slices.Contains(strings.Fields(w.names), name) && slices.Contains(fields, w.field) {
			return Attribute{Name: name, Field: w.field, Note: w.note}.answerOf(w.whose)
		}
	}
	return ""
}

func (a Attribute) answer() string { return a.answerOf("Puppet") }

func (a Attribute) answerOf(whose string) string {
	text := fmt.Sprintf("%s's %s is %s", whose, a.Name, a.Field)
	if a.Field == "" {
		text = fmt.Sprintf("%s's %s does not exist here", whose, a.Name)
	}
	if a.Note != "" {
		text += ": " + a.Note
	}
	return text
}
