// Package rollout holds the RolloutPolicy that Fettle ships. It is embedded so that a manager can create it.
package rollout

import (
	_ "embed"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

//go:embed policy.yaml
var text []byte

// Default returns the policy.
func Default() (*v1alpha1.RolloutPolicy, error) {
	p := &v1alpha1.RolloutPolicy{}
	if err := yaml.UnmarshalStrict(text, p); err != nil {
		return nil, fmt.Errorf("cannot decode policy.yaml: %w", err)
	}
	return p, nil
}
