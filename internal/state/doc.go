// Package state is what Fettle keeps on a host between runs, in one directory.
//
// A [Store] is the memory of transactions and, as long as it is open, the lock that
// keeps a second run off the host. [Documents] keep the catalogs that a node goes on
// with while no API server answers. Everything that is written survives kill -9 and
// power loss; what can't be read any more is set aside, and the run goes on without.
package state

// DefaultDir is where a host keeps its state.
const DefaultDir = "/var/lib/fettle"
