package engine

import "github.com/fettle-dev/fettle/internal/resource"

// A Store remembers between runs. What Arm and Disarm say survives a crash once
// they return; observed values may be lost with one.
type Store interface {
	// Observed are the values of a resource's properties that a run last saw or
	// set, nil where there are none. Not to be changed.
	Observed(ref resource.Ref) map[string]string
	// SetObserved replaces them.
	SetObserved(ref resource.Ref, values map[string]string)
	// Armed are the resources that a refresh is due to, and how many events there
	// were: what an earlier run could not finish.
	Armed() map[resource.Ref]int
	// Arm makes a refresh due, before the change that causes it is made.
	Arm(refs []resource.Ref) error
	// Disarm forgets it: the refresh was done, or is not needed after all.
	Disarm(refs []resource.Ref) error
	// Retain forgets what was observed of any other resource. A refresh that is due
	// stays due, until the resource is there again.
	Retain(refs []resource.Ref)
	// Commit makes what was set durable; it writes nothing where nothing changed.
	Commit() error
}

// Forgetful is a Store that remembers nothing: no change is ever corrective, and a
// refresh is lost with the run.
type Forgetful struct{}

// Observed is nothing.
func (Forgetful) Observed(resource.Ref) map[string]string { return nil }

// SetObserved does nothing.
func (Forgetful) SetObserved(resource.Ref, map[string]string) {}

// Armed is nothing.
func (Forgetful) Armed() map[resource.Ref]int { return nil }

// Arm does nothing.
func (Forgetful) Arm([]resource.Ref) error { return nil }

// Disarm does nothing.
func (Forgetful) Disarm([]resource.Ref) error { return nil }

// Retain does nothing.
func (Forgetful) Retain([]resource.Ref) {}

// Commit does nothing.
func (Forgetful) Commit() error { return nil }
