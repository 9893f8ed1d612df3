// Package compiler makes catalogs from resources, in two steps: Draft turns resources into a [Revision], without
// looking at nodes, and Assign gives each node its part of one.
//
// The compiler is pure: the same input gives the same bytes, in whatever order. An error in a resource is a [Problem],
// a value that becomes a condition of that resource; the rest of the fleet goes on.
package compiler
