// Package controllers reconciles the fleet: it compiles what users write into what agents read,
// and aggregates what agents report into what users read.
//
// There is one reconciler, [Fleet], over everything, because what a node gets depends on all
// resources that select it, and the status of a resource on all its nodes. Each reconciliation
// gathers state from caches, plans in pure functions, and writes what differs. The plans are
// below internal/fleet and in internal/compiler. Nothing here knows any kind of resource.
package controllers
