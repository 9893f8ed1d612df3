// Package catalog compiles resources into catalogs.
//
// [Compile] is pure: the same input gives the same bytes, whatever its order. What
// is wrong with a resource is a [Problem], a value that becomes a condition on that
// resource; the rest of the fleet goes on. The agent uses the other half: [Assemble] puts
// a node's catalogs together, and [Items] binds them to types. Where there is no cluster,
// as for `fettle apply`, [Prepare] is both halves at once, for the one node.
package catalog
