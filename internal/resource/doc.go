// Package resource is what a resource type is written against: Puppet's Resource
// Abstraction Layer in Go's terms.
//
// A type is a value ([Type]), its attributes are a Go struct (the very one that the
// custom resource has), and a means of managing it is a [Provider]. What a provider
// can do beyond reading and writing one resource it says by implementing a small
// optional interface: [Lister], [Sourced], [BatchReader], [BatchWriter],
// [Prechecker], [Identifier], [Refresher], [Featured], [Needing], [Defaulter].
//
// A provider need not be written as one Read and one Write: [Simple] makes a Write of
// create, update and delete, and [OneByOne] one of a setter a property.
//
// Types are generic over their attributes. [Type.Erase] hides the attributes' Go
// type behind [Kind] and [Resource], which the engine and the registry use.
package resource
