// Package schedule decides when a resource may be managed.
package schedule

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Schedule limits when a resource may be managed. All conditions must hold; the zero value allows
// any time. Times are interpreted in their own location.
type Schedule struct {
	Ranges   []TimeRange
	Weekdays []time.Weekday // days on which a range begins or, without ranges, any time of which is allowed
	Period   Period
	// ByNumber distinguishes periods by the calendar instead of by the time since the last check.
	ByNumber bool
	Repeat   int // checks per period unless ByNumber; 0 means 1
}

// A TimeRange is an inclusive range of times of day. If To is not after From, the range ends on the
// next day. An end in the hour that the change to summer time skips is an hour later on that day: 02:30-04:00 is
// 03:30-04:00, and 02:00-03:00 is empty.
type TimeRange struct{ From, To Clock }

// A Clock is a time of day.
type Clock struct{ Hour, Minute, Second int }

// A Period limits how often a resource is managed.
type Period string

// The periods. Any imposes no limit, and Never allows no time at all.
const (
	Any     Period = ""
	Hourly  Period = "hourly"
	Daily   Period = "daily"
	Weekly  Period = "weekly"
	Monthly Period = "monthly"
	Never   Period = "never"
)

// length returns the length of the period; a month has 30 days.
func (p Period) length() time.Duration {
	const day = 24 * time.Hour
	switch p {
	case Hourly:
		return time.Hour
	case Daily:
		return day
	case Weekly:
		return 7 * day
	case Monthly:
		return 30 * day
	case Any, Never:
	}
	return 0
}

// Due returns nil if the schedule allows now, or the reason why not, with the next time that it allows. last is when
// the resource was last checked, zero for never. The period does not limit a first check, or one after the clock was
// set back.
func (s Schedule) Due(last, now time.Time) error {
	if s.allows(last, now) {
		return nil
	}
	next := s.Next(last, now)
	switch {
	case s.Period == Never:
		return errors.New("not scheduled: the period of its schedule is never")
	case next.IsZero():
		return errors.New("not scheduled: its schedule allows no time")
	case s.isNew(last, now):
		return fmt.Errorf("not scheduled: next window begins %s", format(next))
	}
	return fmt.Errorf("not scheduled: already checked in this period of its schedule (%s), due again %s", s.Period, format(next))
}

// allows is [Schedule.Due] without the reason.
func (s Schedule) allows(last, now time.Time) bool { return s.opens(now) && s.isNew(last, now) }

// opens reports whether the ranges and days allow a time.
func (s Schedule) opens(now time.Time) bool {
	if len(s.Ranges) == 0 {
		return includes(s.Weekdays, now.Weekday())
	}
	return slices.ContainsFunc(s.Ranges, func(r TimeRange) bool { return r.holds(now, s.Weekdays) })
}

// isNew reports whether the period allows a check.
func (s Schedule) isNew(last, now time.Time) bool {
	if s.Period == Any || s.Period == Never {
		return s.Period == Any
	}
	return last.IsZero() || last.After(now) || s.another(last.In(now.Location()), now)
}

// holds checks the range that begins on this day and, if ranges end on the next day, the one of the day before.
func (r TimeRange) holds(now time.Time, days []time.Weekday) bool {
	today := now.Weekday()
	if !r.overnight() {
		from, to := r.From.on(now, 0), r.To.on(now, 0)
		return from.Before(to) && between(now, from, to) && includes(days, today)
	}
	if between(now, r.From.on(now, 0), r.To.on(now, 1)) {
		return includes(days, today)
	}
	return between(now, r.From.on(now, -1), r.To.on(now, 0)) && includes(days, (today+6)%7)
}

// overnight reports whether the range ends on the next day. The times count as they are written: a change of clocks can put them
// in another order.
func (r TimeRange) overnight() bool { return r.To.sinceMidnight() <= r.From.sinceMidnight() }

// sinceMidnight is what the clock shows, also on days on which that is not the time that has passed.
func (c Clock) sinceMidnight() time.Duration {
	return time.Duration(c.Hour)*time.Hour + time.Duration(c.Minute)*time.Minute + time.Duration(c.Second)*time.Second
}

// on returns this time of day, the given number of days after a date. A time that clocks skip when they are put forward is as much
// later, in every zone: [time.Date] makes it earlier west of Greenwich.
func (c Clock) on(day time.Time, days int) time.Time {
	y, m, d := day.Date()
	in := func(zone *time.Location) time.Time {
		return time.Date(y, m, d+days, c.Hour, c.Minute, c.Second, 0, zone)
	}
	at := in(day.Location())
	_, offset := at.Zone()
	early := in(time.UTC).Sub(at) - time.Duration(offset)*time.Second
	return at.Add(max(early, 0))
}

// between includes both ends.
func between(t, from, to time.Time) bool {
	return !t.Before(from) && !t.After(to)
}

// includes reports whether a day is among days. None are all.
func includes(days []time.Weekday, day time.Weekday) bool {
	return len(days) == 0 || slices.Contains(days, day)
}

// another reports whether now is in another period than last.
func (s Schedule) another(last, now time.Time) bool {
	if s.ByNumber {
		return s.Period.begin(last) != s.Period.begin(now)
	}
	return now.Truncate(time.Second).Sub(last.Truncate(time.Second)) >= s.interval()
}

// begin identifies the calendar period of a time. Weeks begin on Sundays.
func (p Period) begin(t time.Time) string {
	switch p {
	case Hourly:
		return t.Format("2006-01-02 15 -0700")
	case Daily:
		return t.Format(time.DateOnly)
	case Weekly:
		return t.AddDate(0, 0, -int(t.Weekday())).Format(time.DateOnly)
	case Monthly:
		return t.Format("2006-01")
	case Any, Never:
	}
	return ""
}

var (
	rangeForm = regexp.MustCompile(`^ *([0-9:]+) *- *([0-9:]+) *$`)
	clockForm = regexp.MustCompile(`^(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?$`)
)

// ParseTimeRange parses a range such as 22:00-04:00. Minutes and seconds are optional.
func ParseTimeRange(text string) (r TimeRange, err error) {
	m := rangeForm.FindStringSubmatch(text)
	if m == nil {
		return r, fmt.Errorf("range %q is not two times of day: write it as 22:00-04:00", text)
	}
	from, errFrom := parseClock(m[1])
	to, errTo := parseClock(m[2])
	if err := errors.Join(errFrom, errTo); err != nil {
		return r, fmt.Errorf("range %q: %w", text, err)
	}
	return TimeRange{from, to}, nil
}

func parseClock(text string) (c Clock, err error) {
	if m := clockForm.FindStringSubmatch(text); m != nil {
		c = Clock{number(m[1]), number(m[2]), number(m[3])}
		if c.Hour < 24 && c.Minute < 60 && c.Second < 60 {
			return c, nil
		}
	}
	return c, fmt.Errorf("invalid time of day %q: write it as 04:00, from 00:00 to 23:59:59", text)
}

// number parses digits; "" is 0.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// ParseWeekday parses the first three letters of a day, such as Mon.
func ParseWeekday(text string) (time.Weekday, error) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if strings.EqualFold(day.String()[:3], text) {
			return day, nil
		}
	}
	return 0, fmt.Errorf("invalid weekday %q: write Mon, Tue, Wed, Thu, Fri, Sat or Sun", text)
}

// ParsePeriod parses the name of a period.
func ParsePeriod(text string) (Period, error) {
	all := []Period{Any, Hourly, Daily, Weekly, Monthly, Never}
	if p := Period(text); slices.Contains(all, p) {
		return p, nil
	}
	return Any, fmt.Errorf("invalid period %q: write hourly, daily, weekly, monthly or never", text)
}
