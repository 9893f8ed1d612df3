// Package controllers turns what users write into what agents read, and what agents
// report into what users read.
//
// There is one reconciler, [Fleet], over everything: what a node gets depends on all
// resources that select it, and what a resource says on all its nodes. Each pass reads
// from caches, computes in pure functions and writes what differs. Nothing in here
// knows any kind of resource.
package controllers
