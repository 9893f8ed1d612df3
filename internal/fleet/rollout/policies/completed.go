package policies

import (
	"slices"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// completion is a completed rollout of a revision. Its times are zero if the policy got the revision without a rollout.
type completion struct {
	revision string
	// started is before a newer revision is there, whatever the policy. When a rollout ended depends on its policy.
	started, ended time.Time
}

// completed returns what a policy has completed, the latest first, and its stable revision, also while that is being left. A revision may be
// there several times.
func (p *policy) completed() (all []completion) {
	for _, r := range p.Status.History {
		if r.Outcome == v1alpha1.RolloutCompleted {
			all = append(all, completion{r.Revision, r.Started.Time, r.Ended.Time})
		}
	}
	if stable := p.Status.Stable; stable != "" && !includes(all, stable) {
		all = append(all, completion{revision: stable})
	}
	return all
}

func includes(all []completion, revision string) bool {
	return slices.ContainsFunc(all, func(c completion) bool { return c.revision == revision })
}

// lastCompletedByAll returns the revision that all policies have completed, of several the one that the last of them completed most
// recently; "" if there is none.
func lastCompletedByAll(all []*policy) string {
	last, lastEnded := "", time.Time{}
	for _, c := range all[0].completed() {
		ended, completed := completedBy(all, c.revision)
		if completed && (last == "" || ended.After(lastEnded)) {
			last, lastEnded = c.revision, ended
		}
	}
	return last
}

// completedBy returns when the last of all policies completed a revision; ok is false if one of them has not.
func completedBy(all []*policy, revision string) (ended time.Time, ok bool) {
	for _, p := range all {
		theirs := p.completed()
		i := slices.IndexFunc(theirs, func(c completion) bool { return c.revision == revision })
		if i < 0 {
			return time.Time{}, false
		}
		if theirs[i].ended.After(ended) {
			ended = theirs[i].ended
		}
	}
	return ended, true
}
