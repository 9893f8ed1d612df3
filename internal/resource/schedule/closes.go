package schedule

import (
	"slices"
	"time"
)

// Closes returns the first time after now at which neither a range nor a day allows anything, in the location of now; zero if
// there is none. The period has no influence.
func (s Schedule) Closes(now time.Time) time.Time {
	candidates := s.ends(now)
	slices.SortFunc(candidates, time.Time.Compare)
	for _, t := range candidates {
		if t.After(now) && !s.opens(t) {
			return t
		}
	}
	return time.Time{}
}

// ends are the first times after a range or before a day, which a range includes.
func (s Schedule) ends(now time.Time) (all []time.Time) {
	for day := range horizon {
		all = append(all, Clock{}.on(now, day))
		for _, r := range s.Ranges {
			all = append(all, r.To.on(now, day).Add(time.Nanosecond))
		}
	}
	return all
}
