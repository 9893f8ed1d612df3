// Package drift decides when changes on a host are worth a run, and notices them.
//
// [Pace] is the decision; a [Lookout] looks out for changes to what resources watch and
// keeps the pace. Drift is corrected about a second after it happens; a tool that fights
// for something else costs runs that become less and less frequent.
package drift
