// Package state stores Fettle's data on a host between runs, in one directory.
//
// A [Store] has the state of transactions and, while it is open, locks out a second run on the host.
// [Documents] are the catalogs that a node uses while no API server answers. Both survive kill -9
// and power loss. Unreadable files are set aside, and the run continues without them.
package state

// DefaultDir is the default state directory of a host.
const DefaultDir = "/var/lib/fettle"
