package definition

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/valueschema"
)

// maxFiles is the maximum size of all files in an ExternalType, in bytes.
const maxFiles = 256 << 10

// ensure is the name of no attribute: it is a field of each resource.
const ensure = "ensure"

// Types returns the types that the schema of an attribute allows, with null, as in [valueschema.Types]; none if it allows all.
func Types(a *v1alpha1.ExternalAttribute) []string {
	if a.Schema == nil {
		return nil
	}
	return valueschema.Types(a.Schema.Raw)
}

// TypeWords returns the types that the schema of an attribute allows as a sentence has them, such as string or null.
func TypeWords(a *v1alpha1.ExternalAttribute) string {
	return cmp.Or(valueschema.Words(Types(a)), "any type")
}

// TypeOf returns the type of a decoded value in the terms of JSON schemas.
func TypeOf(value any) string { return valueschema.Of(value) }

// Fits reports whether the type of a decoded value is one that the schema of an attribute allows.
func Fits(a *v1alpha1.ExternalAttribute, value any) bool { return valueschema.Allows(Types(a), value) }

// SchemaType returns the only type that the schema of an attribute allows besides null: string, integer, number, boolean, array or
// object; "" if there are several.
func SchemaType(a *v1alpha1.ExternalAttribute) string {
	all := slices.DeleteFunc(Types(a), func(name string) bool { return name == valueschema.Null })
	if len(all) != 1 {
		return ""
	}
	return all[0]
}

// Enum returns the values that the schema of an attribute lists, nil if it lists none. Numbers are of type [json.Number].
func Enum(a *v1alpha1.ExternalAttribute) []any {
	var s struct {
		Enum []any `json:"enum"`
	}
	if a.Schema == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(a.Schema.Raw))
	d.UseNumber()
	if d.Decode(&s) != nil {
		return nil
	}
	return s.Enum
}

// Format returns the format in the schema of an attribute, such as date-time; "" for none.
func Format(a *v1alpha1.ExternalAttribute) string {
	var s struct {
		Format string `json:"format"`
	}
	if a.Schema == nil || json.Unmarshal(a.Schema.Raw, &s) != nil {
		return ""
	}
	return s.Format
}

// check returns what is wrong with an ExternalType beyond the schema of its own definition. It checks that schema's most
// important rules again, because a cluster may have the definition of another version of Fettle, and some types are made by tools.
func check(t *v1alpha1.ExternalType) error {
	if err := checkLimits(&t.Spec); err != nil {
		return err
	}
	c := &checker{spec: &t.Spec}
	c.add(t.Name != "" && t.Name == strings.ToLower(t.Name) && !strings.ContainsAny(t.Name, "./@"),
		"metadata.name %q is not the plural of the kind in lower case, such as dnszones", t.Name)
	c.add(t.Spec.Unknown == "", "this version of Fettle does not know a part of spec: %s: upgrade Fettle, or remove it", t.Spec.Unknown)
	c.add(t.Spec.Kind != "", "spec.kind is missing: set the name of the kind, such as DNSZone")
	c.add(v1alpha1.NewResource(t.Spec.Kind) == nil, "spec.kind %q is a built-in kind: use another name", t.Spec.Kind)
	c.add(t.Spec.Version != "", "spec.version is missing")
	c.add(t.Spec.Description != "", "spec.description is missing: tell users what the type manages")
	c.protocol()
	c.add(slices.Contains([]v1alpha1.ExternalScope{"", v1alpha1.ScopeHost, v1alpha1.ScopeRemote}, t.Spec.Scope),
		"spec.scope %q is not known: use %s or %s", t.Spec.Scope, v1alpha1.ScopeHost, v1alpha1.ScopeRemote)
	c.add(t.Spec.TimeoutSeconds >= 0 && t.Spec.TimeoutSeconds <= 3600, "spec.timeoutSeconds is %d: use at most 3600, which is 1h", t.Spec.TimeoutSeconds)
	c.ensure()
	c.attributes()
	for i, r := range t.Spec.Rules {
		c.add(r.Rule != "" && r.Message != "", "spec.rules[%d] has no rule or no message", i)
	}
	c.relations()
	c.providers()
	c.source()
	if t.Spec.SelfRefresh {
		c.add(slices.Contains(t.Spec.Requests, v1alpha1.RequestRefresh), "spec.selfRefresh requires Refresh in spec.requests")
	}
	return errors.Join(c.faults...)
}

// A checker collects faults.
type checker struct {
	spec   *v1alpha1.ExternalTypeSpec
	faults []error
}

// add adds a fault unless a condition holds.
func (c *checker) add(ok bool, format string, args ...any) {
	if !ok {
		c.faults = append(c.faults, fmt.Errorf(format, args...))
	}
}

func (c *checker) feature(field, name string) {
	known := func(f v1alpha1.ExternalFeature) bool { return f.Name == name }
	c.add(name == "" || slices.ContainsFunc(c.spec.Features, known), "%s %q is not one of spec.features: declare it there", field, name)
}

func (c *checker) ensure() {
	e := c.spec.Ensure
	if e == nil {
		return
	}
	c.add(len(e.Values) > 0, "spec.ensure.values is empty: list at least one value, such as present")
	c.add(!slices.Contains(e.Values, "absent"), "spec.ensure.values has absent, which is always possible: remove it")
	c.add(e.Default == "" || slices.Contains(e.Values, e.Default), "spec.ensure.default %q is not one of spec.ensure.values", e.Default)
	for value, feature := range e.Features {
		c.add(value == "absent" || slices.Contains(e.Values, value), "spec.ensure.features has %q, which is not one of spec.ensure.values", value)
		c.feature("the feature of ensure "+value, feature)
	}
}

func (c *checker) attributes() {
	seen := map[string]bool{}
	for i := range c.spec.Attributes {
		a := &c.spec.Attributes[i]
		field := fmt.Sprintf("spec.attributes[%s]", a.Name)
		c.add(a.Name != "" && a.Name != ensure, "%s has the name %q: ensure is a field of every resource; use another name", field, a.Name)
		c.add(!seen[a.Name], "%s is declared twice", field)
		seen[a.Name] = true
		c.add(a.Description != "", "%s.description is missing", field)
		c.schema(field, a)
		c.behaviour(field, a)
	}
	c.add(len(namevarsOf(c.spec)) > 0, "no attribute has the behaviour Namevar: mark those that identify an object")
}

func (c *checker) schema(field string, a *v1alpha1.ExternalAttribute) {
	if a.Schema == nil {
		c.add(false, "%s.schema is missing", field)
	} else if _, err := valueschema.Structural(a.Schema.Raw); err != nil {
		c.add(false, "%s.schema%w", field, err)
	}
}

func (c *checker) behaviour(field string, a *v1alpha1.ExternalAttribute) {
	switch kind := SchemaType(a); a.Behaviour {
	case v1alpha1.BehaviourNamevar:
		c.add(len(Types(a)) == 1 && slices.Contains([]string{"string", "integer"}, kind), "%s is a Namevar of the type %s: use a string or an integer",
			field, TypeWords(a))
		c.add(!a.Sensitive, "%s is a sensitive Namevar, but names are shown: make it another attribute", field)
	case v1alpha1.BehaviourReadOnly:
		c.add(!a.Required && a.Default == "", "%s is ReadOnly, so nobody can set it: remove required and default", field)
	case "", v1alpha1.BehaviourProperty, v1alpha1.BehaviourParameter, v1alpha1.BehaviourInitOnly:
	default:
		c.add(false, "%s.behaviour %q is not known: use Property, Namevar, Parameter, InitOnly or ReadOnly", field, a.Behaviour)
	}
	c.translation(field, a)
	c.add(a.Match == "" || Fits(a, []any{}), "%s.match is for lists, but the type is %s", field, TypeWords(a))
	c.feature(field+".feature", a.Feature)
	for value, feature := range a.ValueFeatures {
		c.feature(fmt.Sprintf("%s.valueFeatures[%s]", field, value), feature)
	}
}

// translation checks what the program has for a Namevar.
func (c *checker) translation(field string, a *v1alpha1.ExternalAttribute) {
	if a.ProgramName == "" && a.ProgramValue == "" {
		return
	}
	c.add(a.Behaviour == v1alpha1.BehaviourNamevar, "%s is no Namevar: remove programName and programValue", field)
	c.add(c.spec.Protocol != v1alpha1.ProtocolDSC, "%s has programName or programValue, which are for the protocol Fettle: remove them", field)
	for i := range c.spec.Attributes {
		other := &c.spec.Attributes[i]
		c.add(other.Name == a.Name || programName(other) != programName(a) && programName(a) != ensure,
			"%s.programName %q is that of another attribute: choose one of the program's Namevars", field, programName(a))
	}
	if a.ProgramValue != "" {
		c.programValue(field+".programValue", a)
	}
}

func (c *checker) programValue(field string, a *v1alpha1.ExternalAttribute) {
	c.add(SchemaType(a) == "string", "%s is for text, but the type is %s", field, TypeWords(a))
	c.add(strings.Count(a.ProgramValue, placeholder(a.Name)) == 1, "%s %q does not have %s once", field, a.ProgramValue, placeholder(a.Name))
	for _, name := range placeholders.FindAllStringSubmatch(a.ProgramValue, -1) {
		plain := func(at v1alpha1.ExternalAttribute) bool {
			return at.Name == name[1] && at.Behaviour == v1alpha1.BehaviourNamevar && (at.ProgramValue == "" || at.Name == a.Name)
		}
		c.add(slices.ContainsFunc(c.spec.Attributes, plain), "%s %q has %s: use Namevars that have no programValue", field, a.ProgramValue, name[0])
	}
}

// placeholders matches what stands for a value in a programValue.
var placeholders = regexp.MustCompile(`\{([^{}]*)\}`)

func (c *checker) relations() {
	for i, r := range c.spec.Relations {
		c.add(!r.SendDesired || c.spec.Protocol != v1alpha1.ProtocolDSC,
			"spec.relations[%d].sendDesired is for the protocol Fettle: the commands of DSC resources get no other resources; remove it", i)
		name, variable := strings.CutPrefix(r.Name, "$")
		if !variable {
			continue
		}
		known := func(a v1alpha1.ExternalAttribute) bool { return a.Name == name }
		c.add(slices.ContainsFunc(c.spec.Attributes, known), "spec.relations[%d].name %q names no attribute: declare it, or name a resource without $", i, r.Name)
	}
}

func (c *checker) providers() {
	seen := map[string]bool{}
	c.add(len(c.spec.Providers) > 0, "spec.providers is empty: declare at least one")
	for _, p := range c.spec.Providers {
		field := fmt.Sprintf("spec.providers[%s]", p.Name)
		c.add(p.Name != "" && !seen[p.Name], "%s has no name of its own", field)
		seen[p.Name] = true
		if c.spec.Protocol == v1alpha1.ProtocolDSC {
			c.add(len(p.Command) == 0, "%s.command is for other protocols: the manifest names the commands; remove it", field)
		} else {
			c.add(len(p.Command) > 0 && p.Command[0] != "", "%s.command is empty: name the program", field)
		}
		if len(p.Command) > 0 {
			c.command(field+".command", p.Command[0])
		}
		for _, f := range p.Features {
			c.feature(field+".features", f)
		}
	}
}

// command checks that a program with a slash is a file of the source.
func (c *checker) command(field, program string) {
	if !isOfSource(program) {
		return
	}
	c.add(path.Clean(program) == strings.TrimPrefix(program, "./") && !strings.HasPrefix(program, ".."),
		"%s has the program %q, which is not below the source: write it as ./main.py", field, program)
	if files := c.spec.Source.Files; files != nil {
		content, ok := files[path.Clean(program)]
		c.add(ok, "%s has the program %q, which is not one of spec.source.files", field, program)
		c.add(!ok || interpreted.MatchString(content), "spec.source.files[%s] begins with %.40q, so the kernel can't start it: begin with a line that names an interpreter, such as "+
			"#!/usr/bin/env python3, without a byte order mark and a carriage return", path.Clean(program), firstLine(content))
	}
}

// interpreted matches a program that begins with the absolute path of its interpreter, and one that is not read yet.
var interpreted = regexp.MustCompile(`^(#![ \t]*/[^\r\n]*(\n|$)|$)`)

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func (c *checker) source() {
	s := c.spec.Source
	sources := 0
	for _, set := range []bool{len(s.Files) > 0, s.HostPath != "", s.Image != ""} {
		if set {
			sources++
		}
	}
	c.add(sources == 1, "spec.source requires exactly one of files, image and hostPath")
	c.add(s.Image == "" || imageReference().MatchString(s.Image),
		"spec.source.image %.200q has no registry or no digest: write registry.example.com/types/dns@sha256:..., as fettle type push prints it", s.Image)
	c.add(s.HostPath == "" || path.IsAbs(s.HostPath) && path.Clean(s.HostPath) == s.HostPath, "spec.source.hostPath %q is not a clean absolute path", s.HostPath)
	size := 0
	for name, content := range s.Files {
		size += len(name) + len(content)
		c.add(fileName(name), "spec.source.files has the name %q: use letters, digits, ., _ and -, and / between directories", name)
	}
	c.add(size <= maxFiles, "spec.source.files has %d KiB, and the limit is %d: push the program with fettle type push, and use image", size>>10, maxFiles>>10)
}

// filePart is a part of a file's name. No part is hidden, and none leads up.
var filePart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}$`) })

// fileName reports whether a name stays below the directory of the program.
func fileName(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if !filePart().MatchString(part) {
			return false
		}
	}
	return true
}
