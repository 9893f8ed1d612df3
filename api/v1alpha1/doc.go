// Package v1alpha1 defines the API: the kinds that manage objects on hosts, NodeCatalog and Catalog, and
// the conditions and their reasons.
//
// A kind is a struct with the marker +fettle:kind. Its spec inlines Targeting and the attributes of the
// kind. Providers read and write the same attributes struct (see internal/resource), so each schema is
// written once. The accessors and the registration of all kinds are generated from the marker.
//
// +kubebuilder:object:generate=true
// +groupName=fettle.dev
//
//go:generate go run ../../hack/kinds
package v1alpha1
