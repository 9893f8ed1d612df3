package compiler

import "github.com/fettle-dev/fettle/api/v1alpha1"

// Result is the desired state of the fleet.
type Result struct {
	// Catalogs has the catalogs by name. Each is used by at least one node.
	Catalogs map[string]*v1alpha1.Catalog
	// Nodes has a result by name for every node of the input.
	Nodes map[string]*NodeResult
	// Selected maps each resource to the sorted names of the nodes that it selects. Resources of one targeting share
	// one slice.
	Selected map[v1alpha1.ResourceRef][]string
	// Problems are sorted by resource, node and reason.
	Problems []Problem
	// Usage is what the compilation took.
	Usage Usage
	// Err is [ErrUsage] or [ErrStopped] if the compilation ended early, so that there is nothing else; nil if its input has
	// neither Limit nor Stop.
	Err error
}

// NodeResult is the desired state of one node. Nodes with the same state may share one.
type NodeResult struct {
	Spec v1alpha1.NodeCatalogSpec
	// Digest is the digest of Spec, which the node's agent reports once it has applied it.
	Digest string
	// Types are the definitions that the revision keeps of the external types of the node's entries, sorted. Digest does not cover them, as
	// the entries name their types.
	Types []v1alpha1.TypeDefinition

	shared map[v1alpha1.ResourceRef]string // hashes of the entries in shared catalogs
	own    map[v1alpha1.ResourceRef]string // hashes of the node's own entries
}

// EntryHash identifies the node's entry of a resource: it changes when the entry does. It is "" if the resource does
// not select the node or is withheld from it.
func (n *NodeResult) EntryHash(ref v1alpha1.ResourceRef) string {
	if hash, ok := n.own[ref]; ok {
		return hash
	}
	return n.shared[ref]
}
