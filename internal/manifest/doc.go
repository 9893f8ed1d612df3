// Package manifest reads YAML and JSON files of resources, as people write them for kubectl, and reports faults
// with their lines.
//
// [Read] decodes strictly and validates against the CRDs with the API server's own code, so it accepts
// a resource if a cluster would. A [Cache] saves that work for documents that have not changed.
package manifest
