package policies

import (
	"cmp"
	"slices"
)

// Completed returns the newest revision that a policy has completed, "" if there is none. Resources at fault keep their entry of it.
//
// A revision is as new as the first of its completed rollouts in any policy: slower policies roll it out later, and a pin brings it back. If people
// have reverted to it, policies roll it out again, and it is as new as the first rollout that was the second one in a policy, and so on. A revision
// that policies only got without a rollout is older than all that were rolled out.
func (s *Set) Completed() string {
	var firsts []numbered
	for _, p := range s.sorted {
		for _, c := range p.numbered() {
			firsts = withFirst(firsts, c)
		}
	}
	if len(firsts) == 0 {
		return ""
	}
	return slices.MaxFunc(firsts, func(a, b numbered) int { return a.started.Compare(b.started) }).revision
}

// Base returns what becomes stable in a policy that has no stable revision yet: the newest one that a policy has completed, or else
// the newest of all.
func (s *Set) Base(newest string) string { return cmp.Or(s.Completed(), newest) }

// numbered is a completed rollout with its number: how often the policy has completed the revision by then, from 1.
type numbered struct {
	completion
	number int
}

// numbered returns the completed rollouts of a policy, the latest first. A revision that the policy is pinned to has one: it may have gone back
// because of the pin.
func (p *policy) numbered() (all []numbered) {
	number := map[string]int{}
	for _, c := range slices.Backward(p.completed()) {
		if number[c.revision] > 0 && c.revision == p.Spec.Revision {
			continue
		}
		number[c.revision]++
		all = append(all, numbered{c, number[c.revision]})
	}
	slices.Reverse(all)
	return all
}

// withFirst adds a rollout, or has it take the place of the same one of another policy if that started later or had no rollout.
func withFirst(firsts []numbered, c numbered) []numbered {
	i := slices.IndexFunc(firsts, func(o numbered) bool { return o.revision == c.revision && o.number == c.number })
	switch {
	case i < 0:
		return append(firsts, c)
	case firsts[i].started.IsZero(), !c.started.IsZero() && c.started.Before(firsts[i].started):
		firsts[i] = c
	}
	return firsts
}
