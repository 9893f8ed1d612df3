package engine

import (
	"time"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/claim"
)

// A Store has state of objects between runs, by kind and namevar. A renamed resource keeps its state;
// one that now manages another object gets the state of that. The effects of Arm, Disarm and Claim
// survive a crash once they return. Other changes may be lost in a crash.
type Store interface {
	// Observed returns the values of an object's properties that a run last observed or set, or nil.
	// Do not modify them.
	Observed(object resource.Ref) map[string]string
	// SetObserved replaces the observed values.
	SetObserved(object resource.Ref, values map[string]string)
	// Completed returns the digest of the catalog with which all that an object's resource generates was in sync last, or "".
	Completed(object resource.Ref) string
	// SetCompleted replaces that digest.
	SetCompleted(object resource.Ref, digest string)
	// Audited returns the values of an object's audited properties that a run last observed,
	// sensitive ones as digests, or nil. Do not modify them.
	Audited(object resource.Ref) map[string]string
	// SetAudited replaces the audited values.
	SetAudited(object resource.Ref, values map[string]string)
	// Key returns the key for digests of sensitive values, a secret of the store.
	Key() []byte
	// Checked returns the time when a run last checked an object, zero for never.
	Checked(object resource.Ref) time.Time
	// SetChecked replaces that time.
	SetChecked(object resource.Ref, at time.Time)
	// Armed returns the objects with a pending refresh, which an earlier run could not do, and their
	// numbers of events.
	Armed() map[resource.Ref]int
	// Arm makes refreshes pending. It is called before the change that causes them.
	Arm(objects []resource.Ref) error
	// Disarm removes pending refreshes, which were done or became unnecessary.
	Disarm(objects []resource.Ref) error
	// Claims returns the claims on objects of the host, by kind and namevar. Do not modify them.
	Claims() map[resource.Ref]claim.Claim
	// Claim adds claims and replaces others on the same objects. It is called before the objects are
	// changed.
	Claim(claims []claim.Claim) error
	// SetClaim adds or replaces a claim that nothing depends on yet.
	SetClaim(c claim.Claim)
	// DropClaim removes a claim.
	DropClaim(key resource.Ref)
	// Retain removes the values of objects for which keep is false. Pending refreshes stay until a
	// resource manages the object again.
	Retain(keep func(object resource.Ref) bool)
	// Commit makes changes durable. Without changes it writes nothing.
	Commit() error
}

// Forgetful is a Store without state: no change is ever corrective, and refreshes are lost at the
// end of the run.
type Forgetful struct{}

// Observed returns nil.
func (Forgetful) Observed(resource.Ref) map[string]string { return nil }

// SetObserved does nothing.
func (Forgetful) SetObserved(resource.Ref, map[string]string) {}

// Completed returns "".
func (Forgetful) Completed(resource.Ref) string { return "" }

// SetCompleted does nothing.
func (Forgetful) SetCompleted(resource.Ref, string) {}

// Audited returns nil.
func (Forgetful) Audited(resource.Ref) map[string]string { return nil }

// SetAudited does nothing.
func (Forgetful) SetAudited(resource.Ref, map[string]string) {}

// Key returns nil.
func (Forgetful) Key() []byte { return nil }

// Checked returns the zero time.
func (Forgetful) Checked(resource.Ref) time.Time { return time.Time{} }

// SetChecked does nothing.
func (Forgetful) SetChecked(resource.Ref, time.Time) {}

// Armed returns nil.
func (Forgetful) Armed() map[resource.Ref]int { return nil }

// Arm does nothing.
func (Forgetful) Arm([]resource.Ref) error { return nil }

// Disarm does nothing.
func (Forgetful) Disarm([]resource.Ref) error { return nil }

// Claims returns nil.
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

func (u unchanged) Observed(object resource.Ref) map[string]string { return u.from.Observed(object) }

func (u unchanged) Completed(object resource.Ref) string          { return u.from.Completed(object) }
func (u unchanged) Audited(object resource.Ref) map[string]string { return u.from.Audited(object) }
func (u unchanged) Key() []byte                                   { return u.from.Key() }
func (u unchanged) Checked(object resource.Ref) time.Time         { return u.from.Checked(object) }
func (u unchanged) Armed() map[resource.Ref]int                   { return u.from.Armed() }
func (u unchanged) Claims() map[resource.Ref]claim.Claim          { return u.from.Claims() }
