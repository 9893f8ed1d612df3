package policies

import (
	"cmp"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Completed returns the newest revision that a policy has completed, "" if there is none. Resources at fault keep their entry of it.
//
// A revision is as new as the first of its completed rollouts in any policy: slower policies roll it out later, and a pin brings it back. If people
// have reverted to it, policies roll it out again, and it is as new as the first rollout that was the second one in a policy, and so on. A revision
// that policies only got without a rollout is older than all that were rolled out.
func (s *Set) Completed() string {
	var firsts []turn
	for _, p := range s.sorted {
		for _, t := range p.turns() {
			firsts = withFirst(firsts, t)
		}
	}
	if len(firsts) == 0 {
		return ""
	}
	return slices.MaxFunc(firsts, func(a, b turn) int { return a.started.Compare(b.started) }).revision
}

// Base returns what becomes stable in a policy that has no stable revision yet: the newest one that a policy has completed, or else
// the newest of all.
func (s *Set) Base(newest string) string { return cmp.Or(s.Completed(), newest) }

// turn is a completed rollout of a revision in a policy.
type turn struct {
	revision string
	number   int // from 1: how often the policy has completed the revision
	// started is when the rollout started, which is before a newer revision is there. When it ended depends on the policy. It is zero if
	// the policy got the revision without a rollout.
	started time.Time
}

// turns returns the completed rollouts of a policy, the latest first. A revision that the policy is pinned to has one: it may have gone back because
// of the pin.
func (p *policy) turns() (all []turn) {
	number := map[string]int{}
	for _, r := range slices.Backward(p.Status.History) {
		if r.Outcome != v1alpha1.RolloutCompleted || number[r.Revision] > 0 && r.Revision == p.Spec.Revision {
			continue
		}
		number[r.Revision]++
		all = append(all, turn{r.Revision, number[r.Revision], r.Started.Time})
	}
	slices.Reverse(all)
	if stable := p.Status.Stable; stable != "" && number[stable] == 0 {
		all = append(all, turn{revision: stable, number: 1})
	}
	return all
}

// withFirst adds a turn, or has it take the place of the same one of another policy if that started later or had no rollout.
func withFirst(firsts []turn, t turn) []turn {
	i := slices.IndexFunc(firsts, func(o turn) bool { return o.revision == t.revision && o.number == t.number })
	switch {
	case i < 0:
		return append(firsts, t)
	case firsts[i].started.IsZero(), !t.started.IsZero() && t.started.Before(firsts[i].started):
		firsts[i] = t
	}
	return firsts
}
