package bench

import (
	"context"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/providers"
)

// Manifests are resources that select all nodes, as YAML.
type Manifests struct{ text strings.Builder }

// Add adds a resource. spec has a line for each attribute, without indentation.
func (m *Manifests) Add(kind, name, spec string, args ...any) {
	fmt.Fprintf(&m.text, "---\napiVersion: fettle.dev/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec:\n  nodeSelector: {}\n", kind, name)
	for line := range strings.Lines(fmt.Sprintf(spec, args...)) {
		m.text.WriteString("  " + strings.TrimSuffix(line, "\n") + "\n")
	}
}

// String returns the text.
func (m *Manifests) String() string { return m.text.String() }

// Compile compiles manifests for the only node of a fleet, as a manager does.
func Compile(ctx context.Context, node, manifests string) (compiler.Result, error) {
	read := func(context.Context) ([]byte, error) { return []byte(manifests), nil }
	set := manifest.Read(ctx, []source.Source{{Name: "state.yaml", Read: read}}, nil)
	if len(set.Faults) > 0 {
		return compiler.Result{}, set.Faults[0]
	}
	return compiler.Compile(compiler.Input{Nodes: []compiler.Node{{Name: node}}, Resources: set.Resources(), Kinds: providers.Kinds()}), nil
}
