// Package v1alpha1 is the contract that users see: the kinds of things on a host,
// NodeCatalog and Catalog, conditions and their reasons.
//
// A kind is a struct with the marker +fettle:kind whose spec inlines Targeting and
// the kind's attributes. The attributes struct is also what its provider reads and
// writes (internal/resource), so a schema is written once. What every kind shares in
// code (accessors, registration) is generated from the marker.
//
// +kubebuilder:object:generate=true
// +groupName=fettle.dev
//
//go:generate go run ../../hack/kinds
package v1alpha1
