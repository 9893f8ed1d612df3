package dscbuild

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/dsc"
)

// build makes the type.
func (b *builder) build(ctx context.Context) (*v1alpha1.ExternalType, error) {
	t := b.partial.DeepCopy()
	t.APIVersion, t.Kind = v1alpha1.GroupVersion.String(), "ExternalType"
	s := &t.Spec
	s.Protocol = v1alpha1.ProtocolDSC
	if s.DSC == nil {
		s.DSC = &v1alpha1.ExternalDSC{}
	}
	if err := b.source(s); err != nil {
		return nil, err
	}
	if err := b.adapt(ctx, s); err != nil {
		return nil, err
	}
	b.describe(t)
	if err := b.attributes(ctx, s); err != nil {
		return nil, err
	}
	if err := b.freeze(s); err != nil {
		return nil, err
	}
	return t, b.provider(s)
}

// source sets the files of the type, unless they are elsewhere.
func (b *builder) source(s *v1alpha1.ExternalTypeSpec) (err error) {
	s.DSC.ManifestPath = b.name
	if s.Source.Files == nil && !reflect.ValueOf(s.Source).IsZero() {
		return nil
	}
	s.Source.Files, err = b.files(s.Source.Files)
	return err
}

// describe sets what people see.
func (b *builder) describe(t *v1alpha1.ExternalType) {
	s := &t.Spec
	name, version, text := b.manifest.Type, b.manifest.Version, b.manifest.Description
	if a := b.adapted; a != nil {
		name, version, text = a.Type, cmp.Or(a.Version, version), a.Description
	}
	_, last, _ := strings.Cut(name, "/")
	s.Kind = cmp.Or(s.Kind, strings.ToUpper(last[:min(1, len(last))])+strings.ReplaceAll(last[min(1, len(last)):], "_", ""))
	t.Name = cmp.Or(t.Name, strings.ToLower(s.Kind)+"s")
	s.Version = cmp.Or(s.Version, version)
	s.Description = cmp.Or(s.Description, text, "Manages "+name+" of DSC.")
}

// attributes sets the attributes: from the schema, completed by the overlay.
func (b *builder) attributes(ctx context.Context, s *v1alpha1.ExternalTypeSpec) error {
	raw, err := b.schema(ctx, s)
	if err != nil {
		return err
	}
	shell := isPowerShell(b.manifest)
	s.DSC.EmptyIsUnset = s.DSC.EmptyIsUnset || shell
	p, err := properties(raw, s, shell)
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if p.lossy {
		full, err := json.Marshal(p.full)
		if err != nil {
			return err
		}
		s.DSC.Schema = &runtime.RawExtension{Raw: full}
	}
	overlay := s.Attributes
	s.Attributes = b.validationMode(s, p.attributes)
	if err := merge(s, overlay, b.overlay); err != nil {
		return err
	}
	return b.identify(s, p)
}

// validationMode sets how resources are compared, and adds the attribute by which a resource says it, if there is a choice.
func (b *builder) validationMode(s *v1alpha1.ExternalTypeSpec, all []v1alpha1.ExternalAttribute) []v1alpha1.ExternalAttribute {
	if b.manifest.Get == nil {
		s.DSC.Compare = v1alpha1.CompareTest
		return all
	}
	taken := slices.ContainsFunc(all, func(a v1alpha1.ExternalAttribute) bool { return a.Name == definition.ValidationMode })
	if taken || b.manifest.Test == nil || b.manifest.Test.Return == "" {
		return all
	}
	s.DSC.ValidationMode = true
	return append(all, v1alpha1.ExternalAttribute{
		Name: definition.ValidationMode, Behaviour: v1alpha1.BehaviourParameter,
		Description: "Who decides whether the resource is in its desired state: property compares the properties that the resource returns, and resource asks the test of the resource.",
		Schema:      &runtime.RawExtension{Raw: []byte(`{"type":"string","enum":["property","resource"]}`)},
	})
}

// identify makes sure that attributes identify a resource: those that the overlay says, or else the only property that is
// required and can be a name. If there is none, each object is a resource of its own, as an instance in a configuration of DSC.
func (b *builder) identify(s *v1alpha1.ExternalTypeSpec, p schemaProperties) error {
	if s.DSC.Singleton {
		s.Attributes = slices.Insert(s.Attributes, 0, v1alpha1.ExternalAttribute{
			Name: "singleton", Description: "A host has exactly one such resource.", Behaviour: v1alpha1.BehaviourNamevar,
			Default: "'singleton'", Schema: &runtime.RawExtension{Raw: []byte(`{"type":"string","enum":["singleton"]}`)},
		})
		return nil
	}
	candidates := p.candidates(s.Attributes)
	isNamevar := func(a v1alpha1.ExternalAttribute) bool { return a.Behaviour == v1alpha1.BehaviourNamevar }
	i := slices.IndexFunc(s.Attributes, isNamevar)
	switch {
	case s.DSC.Named || i < 0 && len(candidates) == 0:
		return named(s)
	case i >= 0:
		if only := !slices.ContainsFunc(s.Attributes[i+1:], isNamevar); only && definition.SchemaType(&s.Attributes[i]) == "string" {
			s.Attributes[i].Required = false // it defaults to the name of the resource
		}
		return nil
	case len(candidates) == 1:
		i = slices.IndexFunc(s.Attributes, func(a v1alpha1.ExternalAttribute) bool { return a.Name == candidates[0] })
		only := s.Attributes[i]
		only.Behaviour, only.Required = v1alpha1.BehaviourNamevar, definition.SchemaType(&only) != "string"
		s.Attributes = slices.Insert(slices.Delete(s.Attributes, i, i+1), 0, only)
		return nil
	}
	return fmt.Errorf("the manifest requires several properties, and does not say which of them identify an instance: in %s, set the behaviour Namevar of some of %s, spec.dsc.named if none does, or spec.dsc.singleton if a host has only one instance",
		b.overlay, strings.Join(candidates, ", "))
}

// candidates are the attributes of required properties that can be names.
func (p *schemaProperties) candidates(all []v1alpha1.ExternalAttribute) []string {
	var names []string
	for i := range all {
		a := &all[i]
		if slices.Contains(p.required, a.Name) && !a.Sensitive && slices.Contains([]string{"string", "integer"}, definition.SchemaType(a)) {
			names = append(names, a.Name)
		}
	}
	return names
}

// named makes each object a resource of its own.
func named(s *v1alpha1.ExternalTypeSpec) error {
	const name = "instance"
	for _, a := range s.Attributes {
		if a.Name == name || a.Behaviour == v1alpha1.BehaviourNamevar {
			return fmt.Errorf("spec.dsc.named adds the attribute %s as the only Namevar, which collides with the attribute %s: use another behaviour, or leave named out", name, a.Name)
		}
	}
	s.DSC.Named = true
	s.Attributes = slices.Insert(s.Attributes, 0, v1alpha1.ExternalAttribute{
		Name: name, Description: "The name of the resource. The command does not get it.", Behaviour: v1alpha1.BehaviourNamevar,
		Schema: &runtime.RawExtension{Raw: []byte(`{"type":"string"}`)},
	})
	return nil
}

// merge completes attributes by the attributes of an overlay, which come first, and whose fields win.
func merge(s *v1alpha1.ExternalTypeSpec, overlay []v1alpha1.ExternalAttribute, file string) error {
	var first []v1alpha1.ExternalAttribute
	for _, o := range overlay {
		i := slices.IndexFunc(s.Attributes, func(a v1alpha1.ExternalAttribute) bool { return a.Name == o.Name })
		if i < 0 {
			return fmt.Errorf("%s has the attribute %q, which the schema of the manifest does not have", file, o.Name)
		}
		a := s.Attributes[i]
		s.Attributes = slices.Delete(s.Attributes, i, i+1)
		a.Description = cmp.Or(o.Description, a.Description)
		a.Behaviour = cmp.Or(o.Behaviour, a.Behaviour)
		a.Default, a.Match, a.Feature = o.Default, o.Match, o.Feature
		a.ValueFeatures = o.ValueFeatures
		a.Required, a.Sensitive = a.Required || o.Required, a.Sensitive || o.Sensitive
		a.CaseInsensitive = a.CaseInsensitive || o.CaseInsensitive
		if o.Schema != nil {
			a.Schema = o.Schema
		}
		if a.Behaviour == v1alpha1.BehaviourReadOnly {
			a.Required = false
		}
		first = append(first, a)
	}
	s.Attributes = slices.Concat(first, s.Attributes)
	return nil
}

// freeze sets the manifest of the type, without its schema, and how resources are removed.
func (b *builder) freeze(s *v1alpha1.ExternalTypeSpec) error {
	frozen := *b.manifest
	frozen.Schema, frozen.Description = nil, ""
	move := func(op *dsc.Operation) *dsc.Operation {
		if op == nil {
			return nil
		}
		moved := *op
		moved.Executable = located(op.Executable, b.beside)
		return &moved
	}
	frozen.Get, frozen.Set, frozen.Test = move(frozen.Get), move(frozen.Set), move(frozen.Test)
	frozen.Delete, frozen.Export, frozen.Validate = move(frozen.Delete), move(frozen.Export), move(frozen.Validate)
	if frozen.Adapter != nil {
		frozen.Adapter = &dsc.Adapter{InputKind: frozen.Adapter.InputKind}
	}
	raw, err := json.Marshal(frozen)
	s.DSC.Manifest = &runtime.RawExtension{Raw: raw}
	s.Requests = nil
	if frozen.Export != nil && !s.DSC.Named { // nothing identifies what is listed
		s.Requests = append(s.Requests, v1alpha1.RequestList)
	}
	if frozen.Validate != nil {
		s.Requests = append(s.Requests, v1alpha1.RequestValidate)
	}
	return err
}

// provider sets the provider, with the commands that it needs, and the feature to remove resources.
func (b *builder) provider(s *v1alpha1.ExternalTypeSpec) error {
	m, err := dsc.Frozen(s.DSC.Manifest.Raw)
	if err != nil {
		return err
	}
	p := v1alpha1.ExternalProvider{Name: "dsc"}
	if len(s.Providers) > 0 {
		p = s.Providers[0]
		p.Name = cmp.Or(p.Name, "dsc")
	}
	for _, program := range b.programs(m) {
		switch {
		case path.IsAbs(program):
			p.Needs.Files = append(p.Needs.Files, program)
		case !strings.Contains(program, "/"):
			p.Needs.Commands = append(p.Needs.Commands, program)
		}
	}
	slices.Sort(p.Needs.Files)
	slices.Sort(p.Needs.Commands)
	p.Needs.Files, p.Needs.Commands = slices.Compact(p.Needs.Files), slices.Compact(p.Needs.Commands)
	r := definition.Resource{ExternalDSC: *s.DSC, Manifest: m}
	if bySet, byDelete := r.Removes(); bySet || byDelete {
		p.Features = append(p.Features, definition.Removable)
	}
	s.Providers = []v1alpha1.ExternalProvider{p}
	s.Features = append(s.Features, v1alpha1.ExternalFeature{Name: definition.Removable, Description: "The command of the resource can remove instances."})
	if s.Ensure.Features == nil {
		s.Ensure.Features = map[string]string{}
	}
	s.Ensure.Features["absent"] = definition.Removable
	return nil
}

// programs returns what a host must have: what the commands start, and what conditions require.
func (b *builder) programs(frozen *dsc.Manifest) []string {
	all := slices.Clone(b.manifest.Needs)
	if b.adapted != nil {
		all = append(all, b.adapted.Needs...)
	}
	for _, op := range frozen.Operations() {
		all = append(all, op.Executable)
	}
	return all
}

// isPowerShell reports whether the commands of a manifest are run by PowerShell.
func isPowerShell(m *dsc.Manifest) bool {
	shells := []string{"pwsh", "pwsh.exe", "powershell", "powershell.exe"}
	return m.Kind == dsc.KindAdapter && slices.ContainsFunc(slices.Collect(maps.Values(m.Operations())), func(op *dsc.Operation) bool {
		return slices.Contains(shells, strings.ToLower(path.Base(op.Executable)))
	})
}
