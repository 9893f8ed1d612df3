// Package drift watches a host for changes and decides when they are worth a run.
//
// [Pace] decides; a [Lookout] watches the paths of the resources. The first change of a calm path is handled at once, by a partial
// run, and a run of everything follows some seconds later. Repeated conflicts with another tool back off exponentially.
package drift
