// Package drift watches a host for changes and decides when they are worth a run.
//
// [Pace] decides; a [Lookout] watches the paths of the resources. Drift is corrected about a second
// after it happens. Repeated conflicts with another tool back off exponentially.
package drift
