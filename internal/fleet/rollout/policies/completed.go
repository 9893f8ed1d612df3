package policies

import (
	"slices"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// completion is a revision that a policy has completed, and when it last did; zero if it got the revision without a rollout.
type completion struct {
	revision string
	ended    time.Time
}

// completed returns what a policy has completed, the latest first. Its stable revision is among them, also while it is being left.
func (p *policy) completed() (all []completion) {
	for _, r := range p.Status.History {
		if r.Outcome == v1alpha1.RolloutCompleted && !includes(all, r.Revision) {
			all = append(all, completion{r.Revision, r.Ended.Time})
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
	var last completion
	for _, c := range all[0].completed() {
		ended, completed := completedBy(all, c.revision)
		if completed && (last.revision == "" || ended.After(last.ended)) {
			last = completion{c.revision, ended}
		}
	}
	return last.revision
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
