package catalog

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Input is all that catalogs are made from. Compile reads it and changes nothing.
type Input struct {
	Nodes     []Node
	Resources []v1alpha1.Resource // of every kind; in any order
	Kinds     []resource.Kind
	// Refused are resources that are not among the others because something is wrong with them,
	// and what. Only [Local], [Prepare] and [Sketch] look at them: they become problems, and
	// so does what depends on them.
	Refused map[v1alpha1.ResourceRef]string
	// ConfigMap returns one key of a ConfigMap, or false where there is none.
	ConfigMap func(ref v1alpha1.KeyRef) (value string, ok bool)
	// Secret returns one key of a Secret. nil has none.
	Secret func(ref v1alpha1.KeyRef) SecretValue
	// Seal seals one key of a Secret, in a version that Secret told, for an attribute of a
	// node's resource. The same arguments are to give the same bytes, if there is nothing
	// against it: a new seal is a change of the node's catalog. An error is one of the key.
	Seal func(n *Node, ref v1alpha1.ResourceRef, attribute string, from v1alpha1.SealedFrom) (v1alpha1.SealedValue, error)
}

// A Node is a machine to compile for.
type Node struct {
	Name                string
	Labels, Annotations map[string]string
	// Facts returns what its agent last reported; nil before it ever did. What needs
	// facts waits until then.
	Facts func() resource.Facts
	// FactsKey is another one when the facts are others.
	FactsKey string
	// PublicKey is what secrets are sealed to for it; "" before its agent published one.
	// Secrets wait until then.
	PublicKey string
}

// Result is what the fleet should be.
type Result struct {
	// Catalogs by name, each used by at least one node.
	Catalogs map[string]*v1alpha1.Catalog
	// Nodes by name; every node of the input has one.
	Nodes map[string]*NodeResult
	// Selected are, by resource, the names of the nodes that it applies to, sorted.
	Selected map[v1alpha1.ResourceRef][]string
	// Problems by resource, node and reason.
	Problems []Problem
}

// NodeResult is what one node should be. Nodes that have all in common share one, and a
// [Compiler] gives the same one again while nothing of it has changed: pointers that are
// equal mean results that are.
type NodeResult struct {
	Spec v1alpha1.NodeCatalogSpec
	// Digest is what the node's agent reports as applied once it has: [Digest] of Spec.
	Digest string

	shared *hashes // of what nodes like it have, too
	own    map[v1alpha1.ResourceRef]string
}

// hashes of entries, by resource.
type hashes struct {
	by map[v1alpha1.ResourceRef]string
}

// EntryHash identifies what the node is to have of one resource: it changes when that
// does. "" where the resource is not the node's, or withheld from it.
func (n *NodeResult) EntryHash(ref v1alpha1.ResourceRef) string {
	if hash, ok := n.own[ref]; ok {
		return hash
	}
	return n.shared.by[ref]
}

// A Problem is what keeps a resource from a node, or from all.
type Problem struct {
	Ref     v1alpha1.ResourceRef
	Node    string // "" for every node that it selects
	Reason  string // one of the reasons in api/v1alpha1
	Message string // names the value at fault and the way out
	// Others are the resources it conflicts with, or the rest of its cycle.
	Others []v1alpha1.ResourceRef
}
