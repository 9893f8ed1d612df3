// Package crd holds the CustomResourceDefinitions of fettle.dev as they are applied
// to a cluster.
//
// They are generated from api/v1alpha1 by `make manifests` and embedded here, so that
// a test or a command has them wherever it runs.
package crd

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// FS has one YAML file for each kind.
//
//go:embed fettle.dev_*.yaml
var FS embed.FS

// All decodes them, in the order of their names.
func All() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(FS, "*.yaml")
	if err != nil {
		return nil, err
	}
	all := make([]*apiextensionsv1.CustomResourceDefinition, len(names))
	for i, name := range names {
		if all[i], err = read(name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Of decodes the one that defines a kind.
func Of(kind string) (*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(FS, "*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if text, err := FS.ReadFile(name); err != nil || bytes.Contains(text, []byte("\n    kind: "+kind+"\n")) {
			return read(name)
		}
	}
	return nil, fmt.Errorf("no CRD defines kind %s", kind)
}

func read(name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	text, err := FS.ReadFile(name)
	if err != nil {
		return nil, err
	}
	c := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, c); err != nil {
		return nil, fmt.Errorf("cannot decode %s: %w", name, err)
	}
	return c, nil
}

// Digest is another one when any of them is another. It is nil if they cannot be read, which
// cannot be.
func Digest() []byte {
	h := sha256.New()
	err := fs.WalkDir(FS, ".", func(name string, _ fs.DirEntry, err error) error {
		if text, reading := FS.ReadFile(name); reading == nil {
			_, _ = h.Write(text) // a hash accepts every write
		}
		return err
	})
	if err != nil {
		return nil
	}
	return h.Sum(nil)
}
