// Package crd holds the CustomResourceDefinitions of fettle.dev as they are applied
// to a cluster.
//
// They are generated from api/v1alpha1 by `make manifests` and embedded here, so that
// a test or a command has them wherever it runs.
package crd

import (
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
		text, err := FS.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all[i] = &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, all[i]); err != nil {
			return nil, fmt.Errorf("cannot decode %s: %w", name, err)
		}
	}
	return all, nil
}
