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

// build makes the type of an overlay.
func (b *builder) build(ctx context.Context, overlay *v1alpha1.ExternalType) (*v1alpha1.ExternalType, error) {
	t := overlay.DeepCopy()
	t.APIVersion, t.Kind = v1alpha1.GroupVersion.String(), "ExternalType"
	s := &t.Spec
	s.Protocol = v1alpha1.ProtocolDSC
	if s.DSC == nil {
		s.DSC = &v1alpha1.ExternalDSC{}
	}
	if err := b.source(s); err != nil {
		return nil, err
	}
	adapted, err := b.adapted(ctx, s)
	if err != nil {
		return nil, err
	}
	b.describe(t, adapted)
	if err := b.attributes(ctx, s, adapted); err != nil {
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
func (b *builder) describe(t *v1alpha1.ExternalType, adapted *adaptedResource) {
	s := &t.Spec
	name, version, text := b.manifest.Type, b.manifest.Version, b.manifest.Description
	if adapted != nil {
		name, version, text = adapted.Type, cmp.Or(adapted.Version, version), adapted.Description
	}
	_, last, _ := strings.Cut(name, "/")
	s.Kind = cmp.Or(s.Kind, strings.ToUpper(last[:min(1, len(last))])+strings.ReplaceAll(last[min(1, len(last)):], "_", ""))
	t.Name = cmp.Or(t.Name, strings.ToLower(s.Kind)+"s")
	s.Version = cmp.Or(s.Version, version)
	s.Description = cmp.Or(s.Description, text, "Manages "+name+" of DSC.")
}

// attributes sets the attributes: those of the schema, as the overlay completes them.
func (b *builder) attributes(ctx context.Context, s *v1alpha1.ExternalTypeSpec, adapted *adaptedResource) error {
	raw, err := b.schema(ctx, s, adapted)
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
	s.Attributes = p.attributes
	if err := merge(s, overlay, b.overlay); err != nil {
		return err
	}
	return b.identify(s, p)
}

// identify makes sure that attributes identify a resource: those that the overlay says, or else the only property that is
// required.
func (b *builder) identify(s *v1alpha1.ExternalTypeSpec, p schemaProperties) error {
	if s.DSC.Singleton {
		s.Attributes = slices.Insert(s.Attributes, 0, v1alpha1.ExternalAttribute{
			Name: "singleton", Description: "A host has exactly one such resource.", Behaviour: v1alpha1.BehaviourNamevar,
			Default: "'singleton'", Schema: &runtime.RawExtension{Raw: []byte(`{"type":"string","enum":["singleton"]}`)},
		})
		return nil
	}
	isNamevar := func(a v1alpha1.ExternalAttribute) bool { return a.Behaviour == v1alpha1.BehaviourNamevar }
	if i := slices.IndexFunc(s.Attributes, isNamevar); i >= 0 {
		if only := !slices.ContainsFunc(s.Attributes[i+1:], isNamevar); only && definition.SchemaType(&s.Attributes[i]) == "string" {
			s.Attributes[i].Required = false // it defaults to the name of the resource
		}
		return nil
	}
	if len(p.required) == 1 {
		i := slices.IndexFunc(s.Attributes, func(a v1alpha1.ExternalAttribute) bool { return a.Name == p.required[0] })
		if kind := definition.SchemaType(&s.Attributes[i]); kind == "string" || kind == "integer" {
			only := s.Attributes[i]
			only.Behaviour, only.Required = v1alpha1.BehaviourNamevar, kind != "string"
			s.Attributes = slices.Insert(slices.Delete(s.Attributes, i, i+1), 0, only)
			return nil
		}
	}
	var names []string
	for _, a := range s.Attributes {
		names = append(names, a.Name)
	}
	return fmt.Errorf("a manifest of DSC does not say which properties identify an instance: in %s, set the behaviour Namevar of some of %s, or spec.dsc.singleton if a host has only one instance",
		b.overlay, strings.Join(names, ", "))
}

// merge completes attributes by those of an overlay, whose fields win. Those of the overlay come first.
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
		adapter := *frozen.Adapter
		adapter.List = *move(&adapter.List)
		frozen.Adapter = &adapter
	}
	raw, err := json.Marshal(frozen)
	s.DSC.Manifest = &runtime.RawExtension{Raw: raw}
	s.Requests = nil
	if frozen.Export != nil {
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
	for _, op := range m.Operations() {
		switch {
		case path.IsAbs(op.Executable):
			p.Needs.Files = append(p.Needs.Files, op.Executable)
		case !strings.Contains(op.Executable, "/"):
			p.Needs.Commands = append(p.Needs.Commands, op.Executable)
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

// isPowerShell reports whether the commands of a manifest are run by PowerShell.
func isPowerShell(m *dsc.Manifest) bool {
	shells := []string{"pwsh", "pwsh.exe", "powershell", "powershell.exe"}
	return m.Kind == dsc.KindAdapter && slices.ContainsFunc(slices.Collect(maps.Values(m.Operations())), func(op *dsc.Operation) bool {
		return slices.Contains(shells, strings.ToLower(path.Base(op.Executable)))
	})
}
