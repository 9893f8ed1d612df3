package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of all kinds.
var GroupVersion = schema.GroupVersion{Group: "fettle.dev", Version: "v1alpha1"}

// AgentNamespace is the namespace of the agents and of their Leases. Each node has a Lease with the
// node's name. The admission policy in config/policy repeats this name.
const AgentNamespace = "fettle-nodes"

// AddToScheme registers every kind.
func AddToScheme(s *runtime.Scheme) error {
	addKinds(s)
	s.AddKnownTypes(GroupVersion, &NodeCatalog{}, &NodeCatalogList{}, &Catalog{}, &CatalogList{}, &ExternalType{}, &ExternalTypeList{}, &Fleet{}, &FleetList{},
		&RolloutPolicy{}, &RolloutPolicyList{}, &CatalogRevision{}, &CatalogRevisionList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
