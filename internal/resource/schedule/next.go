package schedule

import (
	"slices"
	"time"
)

// horizon is longer than the longest time between two that a schedule allows: a month, and a week until its day of the week.
const horizon = 40 // days

// Next returns the first time after now that the schedule allows, in the location of now; zero if there is none.
func (s Schedule) Next(last, now time.Time) time.Time {
	candidates := s.candidates(last, now)
	slices.SortFunc(candidates, time.Time.Compare)
	for _, t := range candidates {
		if t.After(now) && s.allows(last, t) {
			return t
		}
	}
	return time.Time{}
}

// candidates are the times at which a range, a day or a period begins.
func (s Schedule) candidates(last, now time.Time) []time.Time {
	sinceHour := time.Duration(now.Minute())*time.Minute + time.Duration(now.Second())*time.Second + time.Duration(now.Nanosecond())
	all := []time.Time{now.Add(time.Hour - sinceHour), last.Truncate(time.Second).Add(s.interval()).In(now.Location())}
	for day := range horizon {
		all = append(all, Clock{}.on(now, day))
		for _, r := range s.Ranges {
			all = append(all, r.From.on(now, day))
		}
	}
	return all
}

// interval is the time between two checks unless ByNumber.
func (s Schedule) interval() time.Duration {
	return s.Period.length() / time.Duration(max(s.Repeat, 1))
}

// format writes a time of a schedule, with seconds if it has any.
func format(t time.Time) string {
	if t.Second() != 0 {
		return t.Format("2006-01-02 15:04:05 MST")
	}
	return t.Format("2006-01-02 15:04 MST")
}
