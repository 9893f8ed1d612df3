package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind here.
var GroupVersion = schema.GroupVersion{Group: "fettle.dev", Version: "v1alpha1"}

// AgentNamespace is where the agents are, and a Lease for each node, named as the node is.
// The admission policy in config/policy names it, too.
const AgentNamespace = "fettle-nodes"

// AddToScheme registers every kind.
func AddToScheme(s *runtime.Scheme) error {
	addKinds(s)
	s.AddKnownTypes(GroupVersion, &NodeCatalog{}, &NodeCatalogList{}, &Catalog{}, &CatalogList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
