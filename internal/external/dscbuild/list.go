package dscbuild

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/dsc"
)

// builders returns what makes the types: those that overlays choose, or all that need no choice.
func (f *file) builders(overlays []*v1alpha1.ExternalType) (all []*builder, err error) {
	if f.isList && len(overlays) > 0 {
		for _, o := range overlays {
			b, fault := f.chosen(o)
			all, err = append(all, b), errors.Join(err, fault)
		}
		return all, err
	}
	if len(overlays) == 0 {
		overlays = []*v1alpha1.ExternalType{{}}
	}
	for _, o := range overlays {
		some, err := f.each(o)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("all of its resources are adapters: set spec.dsc.manifest.type and spec.dsc.adapted.type in %s", f.overlay())
	}
	return all, nil
}

// overlay returns the name of the overlay, for messages.
func (f *file) overlay() string { return filepath.Base(Overlay(f.name)) }

// each returns what makes the types of all manifests.
func (f *file) each(overlay *v1alpha1.ExternalType) (all []*builder, err error) {
	for i, m := range f.resources {
		if field := fmt.Sprintf("resources[%d]", i); f.isBuilt(field, m) {
			all = append(all, f.builder(field, m, nil, overlay))
		}
	}
	var faults []error
	for i, a := range f.adapted {
		field := fmt.Sprintf("adaptedResources[%d]", i)
		if f.faults[field] != nil {
			continue
		}
		b, fault := f.ofAdapted(field, a, overlay)
		all, faults = append(all, b), append(faults, fault)
	}
	if err := errors.Join(append(faults, f.fault())...); err != nil && f.isList {
		return nil, fmt.Errorf("%w\nor choose what to build by spec.dsc.manifest.type or spec.dsc.adapted.type in %s", err, f.overlay())
	}
	return all, errors.Join(faults...)
}

// isBuilt reports whether a type is made of a manifest that no overlay chooses. Of several versions of a resource in a list, it
// is made of the latest. An adapter in a list has no type of its own.
func (f *file) isBuilt(field string, m *dsc.Manifest) bool {
	if !f.isList {
		return true
	}
	return f.faults[field] == nil && m.Kind != dsc.KindAdapter && !f.hasLater(m)
}

// fault returns the faults of all manifests in a list.
func (f *file) fault() (err error) {
	for _, field := range slices.Sorted(maps.Keys(f.faults)) {
		err = errors.Join(err, fmt.Errorf("%s: %w", field, f.faults[field]))
	}
	return err
}

// hasLater reports whether a list has a later version of a manifest.
func (f *file) hasLater(m *dsc.Manifest) bool {
	return slices.ContainsFunc(f.resources, func(o *dsc.Manifest) bool { return strings.EqualFold(o.Type, m.Type) && isLater(o.Version, m.Version) })
}

// isLater compares versions, which may be semantic ones.
func isLater(a, b string) bool {
	x, errX := version.ParseSemantic(a)
	y, errY := version.ParseSemantic(b)
	if errX != nil || errY != nil {
		return a > b
	}
	return y.LessThan(x)
}

// chosen returns what makes the type that an overlay chooses from a list.
func (f *file) chosen(overlay *v1alpha1.ExternalType) (*builder, error) {
	want, err := choiceOf(overlay)
	if err != nil {
		return nil, err
	}
	for i, m := range f.resources {
		if want.isOf(m) && (want.version != "" || !f.hasLater(m)) {
			return f.builder(fmt.Sprintf("resources[%d]", i), m, nil, overlay), nil
		}
	}
	for i, a := range f.adapted {
		if want.manifest == "" && strings.EqualFold(a.Type, want.adapted) {
			return f.ofAdapted(fmt.Sprintf("adaptedResources[%d]", i), a, overlay)
		}
	}
	err = fmt.Errorf("it has no %s, which %s chooses", cmp.Or(want.manifest, want.adapted), f.overlay())
	return nil, errors.Join(err, f.fault())
}

// A choice is what an overlay chooses from a list.
type choice struct{ manifest, version, adapted string }

func choiceOf(overlay *v1alpha1.ExternalType) (c choice, err error) {
	d := overlay.Spec.DSC
	if d != nil && d.Manifest != nil {
		var m dsc.Manifest
		err = json.Unmarshal(d.Manifest.Raw, &m)
		c.manifest, c.version = m.Type, m.Version
	}
	if d != nil && d.Adapted != nil {
		c.adapted = d.Adapted.Type
	}
	if err == nil && c.manifest == "" && c.adapted == "" {
		err = errors.New("each document of the file beside a list needs spec.dsc.manifest.type or spec.dsc.adapted.type, which chooses a resource")
	}
	return c, err
}

func (c choice) isOf(m *dsc.Manifest) bool {
	return c.manifest != "" && strings.EqualFold(m.Type, c.manifest) && (c.version == "" || c.version == m.Version)
}

// ofAdapted returns what makes the type of an adapted resource, with the manifest of its adapter, which is in the same list or
// in a file beside it.
func (f *file) ofAdapted(field string, a *dsc.Adapted, overlay *v1alpha1.ExternalType) (*builder, error) {
	adapter, err := f.adapter(a.RequireAdapter)
	b := f.builder(field, adapter, a, overlay)
	if err != nil {
		err = fmt.Errorf("%s%w", b.field, err)
	}
	return b, err
}

// adapter finds the manifest of an adapter. It is empty after an error.
func (f *file) adapter(name string) (*dsc.Manifest, error) {
	if m := find(f.resources, name); m != nil {
		return m, nil
	}
	entries, err := os.ReadDir(filepath.Dir(f.name))
	if err != nil {
		return &dsc.Manifest{}, err
	}
	err = fmt.Errorf("requireAdapter: there is no manifest of %s beside it: copy the manifest of the adapter, and what it runs, into the directory", name)
	for _, e := range entries {
		beside := filepath.Join(filepath.Dir(f.name), e.Name())
		if _, form := nameOf(beside); form != formResource && form != formList || beside == filepath.Clean(f.name) {
			continue
		}
		other, fault := readFile(beside)
		if fault != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", e.Name(), fault))
		} else if m := find(other.resources, name); m != nil {
			return m, nil
		}
	}
	return &dsc.Manifest{}, err
}

// find returns the manifest of a type; nil if there is none.
func find(all []*dsc.Manifest, name string) *dsc.Manifest {
	for _, m := range all {
		if strings.EqualFold(m.Type, name) {
			return m
		}
	}
	return nil
}
