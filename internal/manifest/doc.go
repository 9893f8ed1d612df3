// Package manifest reads YAML and JSON files of resources, as people write them for
// kubectl, and says precisely what is wrong with them.
//
// [Read] decodes strictly; [Schema] holds a document against the CRDs, with the very
// code that an API server uses. Neither needs a cluster.
package manifest
