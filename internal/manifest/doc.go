// Package manifest reads YAML and JSON files of resources, as people write them for
// kubectl, and says precisely what is wrong with them.
//
// [Read] decodes strictly and validates against the CRDs, with the code that an API server
// uses, so a resource is accepted here if a cluster would accept it. A [Cache] spares that work
// for documents that have not changed.
package manifest
