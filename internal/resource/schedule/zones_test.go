package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource/schedule"
)

// The clocks of these zones change in 2026: Berlin on 29 March at 02:00 and on 25 October at 03:00, New York on 8 March and 1 November
// at 02:00, Lord Howe by half an hour on 4 October and 5 April at 02:00, and Havana and Cairo at midnight.
const berlin, newYork, lordHowe, havana, cairo = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Africa/Cairo"

func inZone(t *testing.T, zone, text string) time.Time {
	t.Helper()
	location, err := time.LoadLocation(zone)
	must(t, err)
	when, err := time.ParseInLocation("2006-01-02 15:04 MST", text, location)
	must(t, err)
	return when
}

// openings are what a schedule allows from a time until two days later.
func openings(s schedule.Schedule, from time.Time) (all []string) {
	const form = "Mon 15:04 MST"
	until := from.AddDate(0, 0, 2)
	for opens := s.Next(time.Time{}, from); !opens.IsZero() && opens.Before(until); {
		closes := s.Closes(opens)
		all = append(all, opens.Format(form)+" to "+closes.Format(form))
		opens = s.Next(time.Time{}, closes)
	}
	return all
}

func TestRangesWhileClocksChange(t *testing.T) {
	const march, october = "2026-03-28 12:00 CET", "2026-10-24 12:00 CEST"
	const inNewYork, inNewYorkInFall = "2026-03-07 12:00 EST", "2026-10-31 12:00 EDT"
	for name, test := range map[string]struct {
		schedule   schedule.Schedule
		zone, from string
		want       []string
	}{
		"a range from the skipped hour to its end is empty on that day": {
			within(t, "02:00-03:00"), berlin, march, []string{"Mon 02:00 CEST to Mon 03:00 CEST"},
		},
		"so is one that would begin after its end": {
			within(t, "02:30-03:15"), berlin, march, []string{"Mon 02:30 CEST to Mon 03:15 CEST"},
		},
		"a range in the skipped hour is an hour later": {
			within(t, "02:15-02:45"), berlin, march, []string{"Sun 03:15 CEST to Sun 03:45 CEST", "Mon 02:15 CEST to Mon 02:45 CEST"},
		},
		"a range that ends where the hour begins keeps its length": {
			within(t, "01:30-02:00"), newYork, inNewYork, []string{"Sun 01:30 EST to Sun 03:00 EDT", "Mon 01:30 EDT to Mon 02:00 EDT"},
		},
		"so does one that ends in the hour": {
			within(t, "01:30-02:15"), newYork, inNewYork, []string{"Sun 01:30 EST to Sun 03:15 EDT", "Mon 01:30 EDT to Mon 02:15 EDT"},
		},
		"a range that begins in the hour begins later in every zone": {
			within(t, "02:30-04:00"), newYork, inNewYork, []string{"Sun 03:30 EDT to Sun 04:00 EDT", "Mon 02:30 EDT to Mon 04:00 EDT"},
		},
		"a range across midnight includes the skipped hour": {
			within(t, "22:00-02:30"), berlin, march, []string{"Sat 22:00 CET to Sun 03:30 CEST", "Sun 22:00 CEST to Mon 02:30 CEST"},
		},
		"a range across an hour that comes twice is an hour longer": {
			within(t, "01:30-03:30"), berlin, october, []string{"Sun 01:30 CEST to Sun 03:30 CET", "Mon 01:30 CET to Mon 03:30 CET"},
		},
		"a range in an hour that comes twice is open once": {
			within(t, "01:15-01:45"), newYork, inNewYorkInFall, []string{"Sun 01:15 EDT to Sun 01:45 EDT", "Mon 01:15 EST to Mon 01:45 EST"},
		},
		"a day without midnight begins an hour later": {
			on(schedule.Schedule{}, time.Sunday), havana, "2026-03-07 12:00 CST", []string{"Sun 01:00 CDT to Mon 00:00 CDT"},
		},
		"and the day before ends there": {
			on(schedule.Schedule{}, time.Saturday), havana, "2026-03-06 12:00 CST", []string{"Sat 00:00 CST to Sun 01:00 CDT"},
		},
		"a range of that day goes on after midnight": {
			on(within(t, "22:00-04:00"), time.Sunday), havana, "2026-03-07 12:00 CST", []string{"Sun 22:00 CDT to Mon 04:00 CDT"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, openings(test.schedule, inZone(t, test.zone, test.from))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whatever clocks do, a range that ends on the day on which it begins is open for as long as it says, give or take an hour.
func TestNoChangeOfClocksOpensARangeAllDay(t *testing.T) {
	for _, name := range []string{berlin, newYork, lordHowe, havana, cairo} {
		zone, err := time.LoadLocation(name)
		must(t, err)
		for quarters := range 12 {
			for length := 15; length <= 120; length += 15 {
				from := time.Date(2026, 1, 1, 0, 15*quarters, 0, 0, time.UTC)
				to := from.Add(time.Duration(length) * time.Minute)
				s := within(t, from.Format("15:04")+"-"+to.Format("15:04"))
				checkLengths(t, s, time.Duration(length)*time.Minute, time.Date(2026, 1, 1, 12, 0, 0, 0, zone))
			}
		}
	}
}

// checkLengths fails if a schedule of one range is open for much longer than that within a year.
func checkLengths(t *testing.T, s schedule.Schedule, length time.Duration, from time.Time) {
	t.Helper()
	count, now := 0, from
	for until := from.AddDate(1, 0, 0); now.Before(until); count++ {
		opens := s.Next(time.Time{}, now)
		now = s.Closes(opens)
		if is := now.Sub(opens); is > length+time.Hour+time.Second || is <= 0 {
			t.Fatalf("%v opens at %s and closes at %s", s.Ranges, opens, now)
		}
	}
	if count < 364 {
		t.Fatalf("%v opened on %d days of the year after %s", s.Ranges, count, from)
	}
}
