package dsc

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// typeName matches the type of a resource. It is never changed.
var typeName = regexp.MustCompile(`^\w+(\.\w+)*/\w+$`)

// check returns everything that is wrong with a manifest, or that Fettle refuses.
func (m *authored) check() error {
	c := &checker{}
	c.add(typeName.MatchString(m.Type), "type %.80q is not a name such as Example.Group/Service", m.Type)
	c.add(m.Version != "", "version is missing")
	c.refused(m)
	c.adapter(m)
	c.add(m.Get != nil || m.Test != nil && m.Test.Return != "", "get is missing: Fettle has to read the current state")
	for code := range m.ExitCodes {
		_, err := strconv.Atoi(code)
		c.add(err == nil, "exitCodes has %.20q, which is not a number", code)
	}
	for name, op := range m.Operations() {
		c.operation(name, op)
	}
	c.schema(m.Schema)
	return c.err()
}

// Operations returns the commands of a manifest by their names.
func (m *Manifest) Operations() map[string]*Operation {
	all := map[string]*Operation{}
	for name, op := range map[string]*Operation{
		"get": m.Get, "set": m.Set, "test": m.Test, "delete": m.Delete, "export": m.Export, "validate": m.Validate,
	} {
		if op != nil {
			all[name] = op
		}
	}
	if m.Adapter != nil && m.Adapter.List != nil {
		all["adapter.list"] = m.Adapter.List
	}
	return all
}

// A checker collects faults.
type checker struct{ faults []error }

// add adds a fault unless a condition holds.
func (c *checker) add(ok bool, format string, args ...any) {
	if !ok {
		c.faults = append(c.faults, fmt.Errorf(format, args...))
	}
}

func (c *checker) err() error { return errors.Join(c.faults...) }

// refused reports what Fettle does in another way.
func (c *checker) refused(m *authored) {
	switch m.Kind {
	case "", "resource", KindAdapter:
	case "group":
		c.add(false, "kind group is refused: create the resources of the group as objects of their own, with relations such as require")
	case "importer":
		c.add(false, "kind importer is refused: convert the configuration into resources, and commit them to Git")
	case "exporter":
		c.add(false, "kind exporter is refused: build a type from each resource that it exports, and list these with fettle resource")
	default:
		c.add(false, "kind %.40q is not known: use resource or adapter", m.Kind)
	}
	c.add(len(m.RequireAdapter) == 0, "requireAdapter is for adapted resources: name the file x.dsc.adaptedResource.json, or put it in adaptedResources of a list")
	c.add(len(m.Resolve) == 0, "resolve is refused: convert the configuration into resources, and commit them to Git")
}

func (c *checker) adapter(m *authored) {
	if m.Kind != KindAdapter {
		c.add(m.Adapter == nil, "adapter requires kind: adapter")
		return
	}
	if m.Adapter == nil {
		c.add(false, "adapter is missing: a manifest of kind adapter needs adapter.inputKind")
		return
	}
	kind := m.Adapter.InputKind
	c.add(slices.Contains([]string{InputSingle, InputFull, InputSequence}, kind), "adapter.inputKind %.20q is not known: use single, full or sequence", kind)
	for name, op := range m.Operations() {
		c.add(!m.TakesConfiguration() || op.Return != ReturnStateAndDiff, "%s.return stateAndDiff is refused with adapter.inputKind %s: use state, with one result for each resource", name, kind)
		c.add(!m.TakesConfiguration() || op.Input != InputEnv, "%s.input env cannot have the configuration that adapter.inputKind %s requires: use stdin", name, kind)
	}
}

// operation checks a command.
func (c *checker) operation(name string, op *Operation) {
	c.add(op.Executable != "", "%s.executable is missing", name)
	c.add(slices.Contains([]string{"", InputStdin, InputEnv}, op.Input), "%s.input %.20q is not known: use stdin or env", name, op.Input)
	c.add(slices.Contains([]string{"", ReturnState, ReturnStateAndDiff}, op.Return), "%s.return %.20q is not known: use state or stateAndDiff", name, op.Return)
	c.context(name, op)
	c.args(name, op)
}

// context checks as whom a command is run.
func (c *checker) context(name string, op *Operation) {
	switch op.RequireSecurityContext {
	case "", "current", "elevated":
	case "restricted":
		c.add(false, "%s.requireSecurityContext restricted is refused: Fettle runs commands as root. Have the command change its user, and remove the field", name)
	default:
		c.add(false, "%s.requireSecurityContext %.20q is not known: use current or elevated", name, op.RequireSecurityContext)
	}
}

func (c *checker) args(name string, op *Operation) {
	inputs := 0
	for _, a := range op.Args {
		c.add(!strings.ContainsRune(a.Text, 0), "%s.args has a text with a NUL byte", name)
		if a.JSON != "" {
			inputs++
		}
	}
	c.add(inputs <= 1, "%s.args has more than one jsonInputArg", name)
}

func (c *checker) schema(s *Schema) {
	if s == nil {
		return
	}
	c.add((len(s.Embedded) > 0) != (s.Command != nil), "schema requires exactly one of embedded and command")
	if s.Command != nil {
		c.operation("schema.command", s.Command)
	}
}

// exposesInput reports whether other users of the host can see properties, in arguments or an environment.
func (o *Operation) exposesInput() bool {
	for _, a := range o.Args {
		if a.JSON != "" {
			return true
		}
	}
	return o.Input == InputEnv
}

// Exposes returns the name of a command that gets properties in its arguments or environment, where secrets could be
// seen; "" if there is none. get, delete and export get only what identifies the instance and controls the command.
func (m *Manifest) Exposes(onlyParameters bool) string {
	names := []string{"set", "test", "validate", "get", "delete", "export"}
	if onlyParameters {
		names = names[3:]
	}
	operations := m.Operations()
	for _, name := range names {
		if op := operations[name]; op != nil && op.exposesInput() {
			return name
		}
	}
	return ""
}
