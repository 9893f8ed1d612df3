// Package drift watches a host for changes of what resources manage, and says when they are due to be checked.
//
// A [Watcher] watches the paths of the resources; a [Queue] paces what it sees. The first change of a resource is due at once or as
// soon as it ends, for a correction of this resource, and a run of everything follows some seconds later. Repeated conflicts with
// another tool back off exponentially.
package drift
