package compiler

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Input is everything that catalogs are made from. The compiler does not change it.
type Input struct {
	Nodes     []Node
	Resources []v1alpha1.Resource // of every kind, in any order
	Kinds     []resource.Kind
	// Refused maps resources that are missing from Resources, because they are invalid, to an
	// explanation. Only [Local], [Prepare] and [Sketch] use it: they report a problem for each, and for the
	// resources that depend on them.
	Refused map[v1alpha1.ResourceRef]string
	// ConfigMap returns the value of a key, or false if it does not exist. nil has no keys.
	ConfigMap func(ref v1alpha1.KeyRef) (value string, ok bool)
	// Secret returns a key of a Secret. nil has no keys.
	Secret func(ref v1alpha1.KeyRef) SecretValue
	// Seal seals a key of a Secret, in the version that Secret returned, for an attribute of a resource on a node.
	// It should return the same bytes for the same arguments if it can: a new value changes the node's catalog. An
	// error is about the node's key.
	Seal Sealer
}

// A Sealer seals a value for one attribute of a resource on one node.
type Sealer func(n *Node, ref v1alpha1.ResourceRef, attribute string, from v1alpha1.SealedFrom) (v1alpha1.SealedValue, error)

// A Node is a machine to compile for.
type Node struct {
	Name                string
	Labels, Annotations map[string]string
	// Facts returns what the agent reported last. It is nil, or returns nil, if nothing was reported; resources that
	// need facts are withheld until then.
	Facts func() resource.Facts
	// FactsKey differs when the facts differ.
	FactsKey string
	// PublicKey is the key that secrets are sealed to; "" if the agent has not published one. Resources that need it
	// are withheld until then.
	PublicKey string
}

// A Problem withholds a resource from one node, or from all nodes that it selects.
type Problem = fault.Problem
