// Package catalog is the document that the manager writes and a node's agent reads: which entries a node gets, what
// identifies them, and how they become items that the engine runs. Package compiler makes these documents.
package catalog
