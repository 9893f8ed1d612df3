// Package policy holds the ValidatingAdmissionPolicies that limit Fettle's own accounts, as they are applied to a cluster.
//
// They are embedded so that a manager can tell whether a cluster has the ones of its version.
package policy

import (
	"bytes"
	"embed"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

//go:embed manager.yaml nodeagent.yaml
var files embed.FS

// All decodes the policies, without their bindings, in the order of their names. Fields that an API server sets by
// default are set, so that a policy equals the one that it is stored as.
func All() ([]admissionregistrationv1.ValidatingAdmissionPolicy, error) {
	names := []string{"manager.yaml", "nodeagent.yaml"}
	all := make([]admissionregistrationv1.ValidatingAdmissionPolicy, len(names))
	for i, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		first, _, _ := bytes.Cut(text, []byte("\n---\n")) // the binding is the second document
		if err := yaml.UnmarshalStrict(first, &all[i]); err != nil {
			return nil, fmt.Errorf("cannot decode %s: %w", name, err)
		}
	}
	return all, nil
}
