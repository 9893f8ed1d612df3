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

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/dsc"
)

// An adaptedResource is a resource as its adapter lists it.
type adaptedResource struct {
	Type         string   `json:"type"`
	Version      string   `json:"version"`
	Description  string   `json:"description"`
	Path         string   `json:"path"`
	Capabilities []string `json:"capabilities"`
	Properties   []string `json:"properties"`
	Schema       *struct {
		Embedded json.RawMessage `json:"embedded"`
	} `json:"schema"`
}

// adapted returns the resource that the overlay names, from the list of the adapter; nil if the manifest is not that of an
// adapter. Commands for which the resource has no capability are removed from the manifest.
func (b *builder) adapted(ctx context.Context, s *v1alpha1.ExternalTypeSpec) (*adaptedResource, error) {
	if b.manifest.Kind != dsc.KindAdapter {
		return nil, nil
	}
	text, err := b.print(ctx, &b.manifest.Adapter.List, s.Source.Files)
	if err != nil {
		return nil, fmt.Errorf("adapter.list: %w", err)
	}
	all, err := listed(text)
	if err != nil {
		return nil, fmt.Errorf("adapter.list: %w", err)
	}
	var names []string
	for i, r := range all {
		if a := s.DSC.Adapted; a != nil && r.Type == a.Type {
			a.Path = relative(r.Path)
			return &all[i], b.limit(r.Capabilities)
		}
		names = append(names, r.Type)
	}
	return nil, fmt.Errorf("set spec.dsc.adapted.type in %s to one of the types that the adapter lists: %s", b.overlay, strings.Join(names, ", "))
}

// listed reads the list of an adapter, a JSON object in each line.
func listed(text []byte) ([]adaptedResource, error) {
	var all []adaptedResource
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var r adaptedResource
		if err := json.Unmarshal(line, &r); err != nil {
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
	m := *b.manifest
	has := func(name string) bool { return slices.Contains(capabilities, name) }
	if !has("get") {
		return errors.New("the resource lacks the capability get: Fettle has to read the current state")
	}
	if !has("set") {
		m.Set = nil
	}
	if !has("test") {
		m.Test = nil
	}
	if !has("delete") {
		m.Delete = nil
	}
	if !has("export") {
		m.Export = nil
	}
	if m.Set != nil {
		set := *m.Set
		set.HandlesExist = set.HandlesExist || has("setHandlesExist")
		m.Set = &set
	}
	b.manifest = &m
	return nil
}

// schema returns the schema of the resource: that in the list, or that of the attributes of the overlay, which must have
// one for each property.
func (r *adaptedResource) schema(overlay []v1alpha1.ExternalAttribute, file string) ([]byte, error) {
	if r.Schema != nil && len(r.Schema.Embedded) > 0 {
		return r.Schema.Embedded, nil
	}
	all, missing := map[string]json.RawMessage{}, []string(nil)
	for _, name := range r.Properties {
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
		return nil, fmt.Errorf("the adapter lists %s without a schema: in %s, set spec.attributes[].schema of %s", r.Type, file, strings.Join(missing, ", "))
	}
	return json.Marshal(map[string]any{"type": "object", "properties": all})
}
