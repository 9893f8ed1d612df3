// Package typebuild makes complete types, and their definitions for a cluster, from what authors write.
package typebuild

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/authoring"
	"github.com/fettle-dev/fettle/internal/external/crdbuild"
	"github.com/fettle-dev/fettle/internal/external/defaults"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/dscbuild"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/source"
)

// Types reads the types of an author, and checks them like a manifest. image replaces their source unless it is "". run runs
// commands of DSC manifests.
func Types(ctx context.Context, name, image string, run dscbuild.Runner) ([]*v1alpha1.ExternalType, manifest.Types, error) {
	all, err := read(ctx, name, run)
	if err != nil {
		return nil, manifest.Types{}, err
	}
	var texts [][]byte
	for _, t := range all {
		if image != "" {
			t.Spec.Source = v1alpha1.ExternalSource{Image: image}
		}
		text, err := json.Marshal(t)
		if err != nil {
			return nil, manifest.Types{}, err
		}
		texts = append(texts, text)
	}
	read := func(context.Context) ([]byte, error) { return bytes.Join(texts, []byte("\n---\n")), nil }
	types, faults := manifest.ReadTypes(ctx, []source.Source{{Name: name, Read: read}})
	var errs []error
	for _, f := range faults {
		errs = append(errs, fmt.Errorf("%s: %s", name, f.Message)) // lines are those of other text
	}
	for _, d := range types.Definitions() {
		if err := consistent(d); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return all, types, errors.Join(errs...)
}

// consistent returns what clusters and hosts accept of a type, although it cannot work as its author expects.
func consistent(d *definition.Definition) error {
	built, err := crdbuild.Build(d)
	if err != nil {
		return err
	}
	all, err := defaults.New(d, built)
	if err != nil {
		return err
	}
	return errors.Join(crdbuild.Consistent(built), all.CheckConstants())
}

// read reads the types of a file or a directory.
func read(ctx context.Context, name string, run dscbuild.Runner) ([]*v1alpha1.ExternalType, error) {
	if !dscbuild.IsManifest(name) && !authoring.Derives(name) {
		if err := check(ctx, authoring.File(name)); err != nil {
			return nil, err
		}
	}
	return authoring.Read(ctx, name, run)
}

// check checks types as they are written, so that faults have lines and unknown fields are found.
func check(ctx context.Context, file string) error {
	all, err := source.Loader{}.Expand(source.Request{Files: []string{file}})
	if err != nil {
		return err
	}
	_, faults := manifest.ReadTypes(ctx, all)
	return manifest.Join(faults)
}

// Documents returns the definition of a type for a cluster, and the type, as an author writes objects.
func Documents(d *definition.Definition, t *v1alpha1.ExternalType) ([]map[string]any, error) {
	crd, err := crdbuild.Build(d)
	if err != nil {
		return nil, err
	}
	var all []map[string]any
	for _, o := range []any{crd, t} {
		tree, err := withoutStatus(o)
		if err != nil {
			return nil, err
		}
		all = append(all, tree)
	}
	return all, nil
}

func withoutStatus(o any) (map[string]any, error) {
	raw, err := json.Marshal(o)
	tree := map[string]any{}
	if err == nil {
		err = json.Unmarshal(raw, &tree)
	}
	delete(tree, "status")
	if meta, ok := tree["metadata"].(map[string]any); ok {
		delete(meta, "creationTimestamp")
	}
	return tree, err
}
