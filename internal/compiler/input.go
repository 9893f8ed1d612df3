package compiler

import (
	"errors"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
	"github.com/fettle-dev/fettle/internal/compiler/placement"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Input is everything that catalogs are made from. The compiler does not change it.
type Input struct {
	Nodes     []Node
	Resources []v1alpha1.Resource // of every kind, in any order
	Kinds     []resource.Kind     // built-in kinds, and kinds of external types
	// External maps kinds of external types to what the compiler has to know of them.
	External map[string]ExternalKind
	// Refused maps invalid resources to an explanation: a problem is reported for each, and for the resources that
	// depend on them. For [Local], [Prepare] and [DisplayItems], they may be missing from Resources.
	Refused map[v1alpha1.ResourceRef]string
	// Fragments are what is known of invalid resources that are missing from Resources, to tell where they manage something. There
	// may be several of one name. Only for [Prepare].
	Fragments []v1alpha1.Resource
	// ConfigMap returns the value of a key, or false if it does not exist. nil has no keys.
	ConfigMap func(ref v1alpha1.KeyRef) (value string, ok bool)
	// Secret returns a key of a Secret. nil has no keys.
	Secret func(ref v1alpha1.KeyRef) SecretValue
	// Unread are resources whose Secrets are not read: they are taken to exist, with values that their type accepts. So the
	// result tells nothing about them.
	Unread map[v1alpha1.ResourceRef]bool
	// Seal seals a key of a Secret, in the version that Secret returned, for an attribute of a resource on a node.
	// It should return the same bytes for the same arguments if it can: a new value changes the node's catalog. A revision
	// that was restored may ask for an earlier version: then it is sealed only if the node has it already, else the present one is. An
	// error is about the node's key, unless it is [ErrMissingSecret].
	Seal Sealer
	// Limit ends a compilation that takes more: its result has an Err. The zero value does not.
	Limit Usage
	// Stop ends a compilation when it is closed. nil does not.
	Stop <-chan struct{}
}

// An ExternalKind is a kind that an ExternalType defines.
type ExternalKind struct {
	// Type is the type of catalog entries: the name of the ExternalType, @ and its digest.
	Type string
	// Definition is the Catalog that keeps the definition of the type: see [catalog.OfType]. Revisions of a type without one don't keep it.
	Definition *v1alpha1.Catalog
	// Remote means that one node acts for each resource.
	Remote bool
	// Fault withholds all resources of the kind; nil does not. The kind may then be missing from Kinds.
	Fault *fault.Fault
}

// ErrMissingSecret means that a Secret does not exist any more, is not exposed to nodes, or has lost the key.
var ErrMissingSecret = errors.New("a Secret is missing")

// A Sealer seals a value for one attribute of a resource on one node.
type Sealer func(n *Node, ref v1alpha1.ResourceRef, attribute string, from v1alpha1.SealedFrom) (v1alpha1.SealedValue, error)

// A Node is a machine to compile for.
type Node struct {
	Name                string
	Labels, Annotations map[string]string
	// Any stands for any node. Resources that need to know which are withheld, as those that need facts.
	Any bool
	// Facts returns what the agent reported last. It is nil, or returns nil, if nothing was reported; resources that
	// need facts are withheld until then.
	Facts func() resource.Facts
	// FactsKey differs when the facts differ.
	FactsKey string
	// PublicKey is the key that secrets are sealed to; "" if the agent has not published one. Resources that need it
	// are withheld until then.
	PublicKey string
	// Placement says whether the node can act for resources of Remote types, and what it has been told about them. Its name
	// is ignored.
	Placement placement.Candidate
	// Retained are resources that the node has and that nobody deleted, although they are missing from the input: the
	// definition of their kind is gone, or they cannot be read. They are withheld, so that the node leaves the objects as
	// they are.
	Retained []v1alpha1.ResourceRef
}

// A Fault is the reason of a problem.
type Fault = fault.Fault

// NewFault formats the message of a fault, and escapes unprintable characters.
func NewFault(reason, format string, args ...any) *Fault { return fault.New(reason, format, args...) }

// A Problem withholds a resource from one node, or from all nodes that it selects.
type Problem = fault.Problem
