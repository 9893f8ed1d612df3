package dscbuild

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/dsc"
)

// adapt finds the resource of an adapter: the one of its manifest, or the one in the list of the adapter that the overlay names.
// Commands for which the resource has no capability are removed from the manifest.
func (b *builder) adapt(ctx context.Context, s *v1alpha1.ExternalTypeSpec) error {
	if b.manifest.Kind != dsc.KindAdapter {
		if b.adapted != nil {
			return fmt.Errorf("requireAdapter: %s is not an adapter", b.manifest.Type)
		}
		return nil
	}
	if b.adapted == nil {
		if err := b.list(ctx, s); err != nil {
			return err
		}
	}
	a := v1alpha1.ExternalDSCAdapted{Type: b.adapted.Type, Version: b.adapted.Version, Path: relative(b.adapted.Path)}
	if len(b.adapted.Content) > 0 {
		a.Content, a.Path = &runtime.RawExtension{Raw: b.adapted.Content}, b.name
	}
	s.DSC.Adapted = &a
	return b.limit(b.adapted.Capabilities)
}

// list finds the resource that the overlay names in the list of the adapter.
func (b *builder) list(ctx context.Context, s *v1alpha1.ExternalTypeSpec) error {
	command := b.manifest.Adapter.List
	if command == nil {
		return errors.New("adapter.list is missing: build its types from manifests of adapted resources, x.dsc.adaptedResource.json")
	}
	text, err := b.print(ctx, command, s.Source.Files)
	if err != nil {
		return fmt.Errorf("adapter.list: %w; a manifest of the adapted resource, x.dsc.adaptedResource.json, needs no list", err)
	}
	all, err := listed(text)
	if err != nil {
		return fmt.Errorf("adapter.list: %w", err)
	}
	var names []string
	for _, r := range all {
		if a := s.DSC.Adapted; a != nil && strings.EqualFold(r.Type, a.Type) {
			b.adapted = r
			return nil
		}
		names = append(names, r.Type)
	}
	return fmt.Errorf("set spec.dsc.adapted.type in %s to one of the types that the adapter lists: %s", b.overlay, strings.Join(names, ", "))
}

// listed reads the list of an adapter, a JSON object in each line.
func listed(text []byte) ([]*dsc.Adapted, error) {
	var all []*dsc.Adapted
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r, err := dsc.ParseListed(line)
		if err != nil {
			return nil, fmt.Errorf("line %d of its output: %w", len(all)+1, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// relative returns a path below the directory of the source without that directory, whose name begins with the word build.
func relative(full string) string {
	if _, below, ok := strings.Cut(full, "/"+BuildDigest+"/"); ok {
		return path.Clean(below)
	}
	return full
}

// BuildDigest is the name of the directory with the files in which commands are run.
const BuildDigest = "dsc-build"

// limit removes the commands that the resource does not support.
func (b *builder) limit(capabilities []string) error {
	m := b.manifest
	has := func(name string) bool { return slices.Contains(capabilities, name) }
	if !has("get") {
		return errors.New("the resource lacks the capability get: Fettle has to read the current state")
	}
	bySet := m.TakesConfiguration() // as dsc does
	if m.Set != nil {
		set := *m.Set
		set.HandlesExist = set.HandlesExist || has("setHandlesExist") || bySet && has("delete")
		m.Set = &set
	}
	if bySet {
		m.Delete = nil
	}
	for name, op := range map[string]**dsc.Operation{"set": &m.Set, "test": &m.Test, "delete": &m.Delete, "export": &m.Export} {
		if !has(name) {
			*op = nil
		}
	}
	return nil
}

// overlaySchema returns the schema of an adapted resource from the attributes of the overlay, which must have one for each
// property.
func (b *builder) overlaySchema(overlay []v1alpha1.ExternalAttribute) ([]byte, error) {
	all, missing := map[string]json.RawMessage{}, []string(nil)
	for _, name := range b.adapted.Properties {
		i := slices.IndexFunc(overlay, func(a v1alpha1.ExternalAttribute) bool { return a.Name == name && a.Schema != nil })
		switch {
		case i >= 0:
			all[name] = overlay[i].Schema.Raw
		case dsc.IsCanonical(name):
			all[name] = []byte(`{"type":"boolean"}`)
		case strings.EqualFold(name, "ensure"):
			all[name] = []byte(`{"type":"string","enum":["Present","Absent"]}`)
		default:
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the adapter lists %s without a schema: in %s, set spec.attributes[].schema of %s", b.adapted.Type, b.overlay, strings.Join(missing, ", "))
	}
	return json.Marshal(map[string]any{"type": "object", "properties": all})
}
