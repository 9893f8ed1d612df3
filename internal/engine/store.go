package engine

import (
	"time"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/claim"
)

// A Store remembers things between runs, each by its kind and namevar: a resource that is
// renamed has the same past, and one that is about another thing now has another. What Arm,
// Disarm and Claim say survives a crash once they return; the rest may be lost with one.
type Store interface {
	// Observed are the values of a thing's properties that a run last saw or set, nil where
	// there are none. Not to be changed.
	Observed(thing resource.Ref) map[string]string
	// SetObserved replaces them.
	SetObserved(thing resource.Ref, values map[string]string)
	// Audited are the values of a thing's audited properties that a run last saw, sensitive
	// ones as a digest; nil where there are none. Not to be changed.
	Audited(thing resource.Ref) map[string]string
	// SetAudited replaces them.
	SetAudited(thing resource.Ref, values map[string]string)
	// Key is what sensitive values are digested with: a secret of the store.
	Key() []byte
	// Checked is when a run last looked at a thing, zero for never.
	Checked(thing resource.Ref) time.Time
	// SetChecked replaces it.
	SetChecked(thing resource.Ref, at time.Time)
	// Armed are the things that a refresh is due to, and how many events there were: what
	// an earlier run could not finish.
	Armed() map[resource.Ref]int
	// Arm makes a refresh due, before the change that causes it is made.
	Arm(things []resource.Ref) error
	// Disarm forgets it: the refresh was done, or is not needed after all.
	Disarm(things []resource.Ref) error
	// Claims are what is to be done about things that no resource is about any more, by
	// kind and namevar. Not to be changed.
	Claims() map[resource.Ref]claim.Claim
	// Claim notes claims before what they tell of is changed, each instead of the one on
	// the same thing.
	Claim(claims []claim.Claim) error
	// SetClaim notes one that nothing depends on yet.
	SetClaim(c claim.Claim)
	// DropClaim forgets one.
	DropClaim(key resource.Ref)
	// Retain forgets all that was set of things for which keep is false. A refresh that is
	// due stays due, until a resource is about the thing again.
	Retain(keep func(thing resource.Ref) bool)
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

// Audited is nothing.
func (Forgetful) Audited(resource.Ref) map[string]string { return nil }

// SetAudited does nothing.
func (Forgetful) SetAudited(resource.Ref, map[string]string) {}

// Key is nothing.
func (Forgetful) Key() []byte { return nil }

// Checked is never.
func (Forgetful) Checked(resource.Ref) time.Time { return time.Time{} }

// SetChecked does nothing.
func (Forgetful) SetChecked(resource.Ref, time.Time) {}

// Armed is nothing.
func (Forgetful) Armed() map[resource.Ref]int { return nil }

// Arm does nothing.
func (Forgetful) Arm([]resource.Ref) error { return nil }

// Disarm does nothing.
func (Forgetful) Disarm([]resource.Ref) error { return nil }

// Claims are none.
func (Forgetful) Claims() map[resource.Ref]claim.Claim { return nil }

// Claim does nothing.
func (Forgetful) Claim([]claim.Claim) error { return nil }

// SetClaim does nothing.
func (Forgetful) SetClaim(claim.Claim) {}

// DropClaim does nothing.
func (Forgetful) DropClaim(resource.Ref) {}

// Retain does nothing.
func (Forgetful) Retain(func(resource.Ref) bool) {}

// Commit does nothing.
func (Forgetful) Commit() error { return nil }

// unchanged is the store of a plan: it reads from another one and stores nothing.
type unchanged struct {
	Forgetful
	from Store
}

func (u unchanged) Observed(thing resource.Ref) map[string]string { return u.from.Observed(thing) }
func (u unchanged) Audited(thing resource.Ref) map[string]string  { return u.from.Audited(thing) }
func (u unchanged) Key() []byte                                   { return u.from.Key() }
func (u unchanged) Checked(thing resource.Ref) time.Time          { return u.from.Checked(thing) }
func (u unchanged) Armed() map[resource.Ref]int                   { return u.from.Armed() }
func (u unchanged) Claims() map[resource.Ref]claim.Claim          { return u.from.Claims() }
