// Package planning computes what a change of resources would do to a fleet: which catalogs would change, and what the nodes answer
// that this would do to their hosts.
//
// It changes nothing, and stores nothing. Nodes whose catalogs change in the same way, and that answer the same, are one group.
package planning
