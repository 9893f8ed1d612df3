package schedule_test

import (
	"testing"
	"time"
	_ "time/tzdata" // the zone of these tests is there on every machine

	"github.com/fettle-dev/fettle/internal/resource/schedule"
)

// within is a schedule of ranges.
func within(t *testing.T, ranges ...string) schedule.Schedule {
	t.Helper()
	var s schedule.Schedule
	for _, text := range ranges {
		r, err := schedule.ParseTimeRange(text)
		must(t, err)
		s.Ranges = append(s.Ranges, r)
	}
	return s
}

func on(s schedule.Schedule, days ...time.Weekday) schedule.Schedule {
	s.Weekdays = days
	return s
}

// at is a time in a zone with summer time. 2026-03-29 02:00 is 03:00 there at once, and
// 2026-10-25 03:00 is 02:00 again.
func at(t *testing.T, text string) time.Time {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	must(t, err)
	if text == "" {
		return time.Time{}
	}
	when, err := time.ParseInLocation(time.DateTime, text, zone)
	must(t, err)
	return when
}

func TestScheduleByTimeOfDay(t *testing.T) {
	const sat = time.Saturday // 2026-11-21
	for name, test := range map[string]struct {
		schedule schedule.Schedule
		now      string
		due      bool
	}{
		"nothing said is any time":                   {schedule.Schedule{}, "2026-11-21 12:00:00", true},
		"inside of a range":                          {within(t, "2 - 4"), "2026-11-21 03:00:00", true},
		"a range begins with its first second":       {within(t, "02:30-04:00"), "2026-11-21 02:30:00", true},
		"before a range":                             {within(t, "02:30-04:00"), "2026-11-21 02:29:59", false},
		"a range ends with its last second":          {within(t, "02:30-04:00:30"), "2026-11-21 04:00:30", true},
		"after a range":                              {within(t, "02:30-04:00:30"), "2026-11-21 04:00:31", false},
		"one of several ranges is enough":            {within(t, "1-2", "11-13"), "2026-11-21 12:00:00", true},
		"none of several ranges":                     {within(t, "1-2", "11-13"), "2026-11-21 14:00:00", false},
		"before midnight":                            {within(t, "22:00-04:00"), "2026-11-21 23:00:00", true},
		"after midnight":                             {within(t, "22:00-04:00"), "2026-11-22 04:00:00", true},
		"neither before nor after midnight":          {within(t, "22:00-04:00"), "2026-11-21 12:00:00", false},
		"from a time to the same is all day":         {within(t, "04:00-04:00"), "2026-11-21 03:00:00", true},
		"on the day":                                 {on(schedule.Schedule{}, sat), "2026-11-21 12:00:00", true},
		"on one of the days":                         {on(schedule.Schedule{}, time.Monday, sat), "2026-11-21 12:00:00", true},
		"on another day":                             {on(schedule.Schedule{}, time.Monday), "2026-11-21 12:00:00", false},
		"in the range on the day":                    {on(within(t, "11-13"), sat), "2026-11-21 12:00:00", true},
		"in the range on another day":                {on(within(t, "11-13"), sat), "2026-11-20 12:00:00", false},
		"after midnight of the day it began":         {on(within(t, "22:00-04:00"), sat), "2026-11-22 02:00:00", true},
		"after midnight of the day before it":        {on(within(t, "22:00-04:00"), sat), "2026-11-21 02:00:00", false},
		"before midnight of the day it begins":       {on(within(t, "22:00-04:00"), sat), "2026-11-21 23:00:00", true},
		"all of two days, the first named":           {on(within(t, "04:00-04:00"), sat), "2026-11-22 03:00:00", true},
		"all of two days, the second named":          {on(within(t, "04:00-04:00"), time.Sunday), "2026-11-22 03:00:00", false},
		"an hour that summer time leaves out":        {within(t, "02:00-02:59"), "2026-03-29 03:30:00", true},
		"the hour after it":                          {within(t, "02:00-02:59"), "2026-03-29 04:00:00", false},
		"over the night to summer time":              {within(t, "22:00-03:00"), "2026-03-29 03:00:00", true},
		"over the night from summer time":            {within(t, "22:00-04:00"), "2026-10-25 03:30:00", true},
		"ends after the night from summer time":      {within(t, "22:00-04:00"), "2026-10-25 04:00:01", false},
		"over the end of a year":                     {within(t, "22:00-04:00"), "2027-01-01 01:00:00", true},
		"over the end of February in a leap year":    {on(within(t, "22:00-04:00"), time.Tuesday), "2028-03-01 01:00:00", true},
		"the ranges count, not the day that it is":   {on(within(t, "22:00-04:00"), time.Sunday), "2026-11-22 02:00:00", false},
		"seconds are part of a range":                {within(t, "12:00:00-12:00:01"), "2026-11-21 12:00:01", true},
		"seconds end a range":                        {within(t, "12:00:00-12:00:01"), "2026-11-21 12:00:02", false},
		"in a range that does not begin with zeroes": {within(t, "2:05-4:07"), "2026-11-21 04:07:00", true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := test.schedule.Due(time.Time{}, at(t, test.now)); (err == nil) != test.due {
				t.Errorf("at %s: %v", test.now, err)
			}
		})
	}
}

func TestScheduleByPeriod(t *testing.T) {
	distance := func(p schedule.Period, repeat int) schedule.Schedule {
		return schedule.Schedule{Period: p, Repeat: repeat}
	}
	number := func(p schedule.Period) schedule.Schedule { return schedule.Schedule{Period: p, ByNumber: true} }
	for name, test := range map[string]struct {
		schedule  schedule.Schedule
		last, now string
		due       bool
	}{
		"never is never":                           {distance(schedule.Never, 0), "", "2026-11-21 12:00:00", false},
		"never is never again":                     {number(schedule.Never), "2026-11-20 12:00:00", "2026-11-21 12:00:00", false},
		"what was never looked at is due":          {distance(schedule.Monthly, 0), "", "2026-11-01 00:00:00", true},
		"also by number":                           {number(schedule.Monthly), "", "1970-01-01 01:00:00", true},
		"an hour ago":                              {distance(schedule.Hourly, 0), "2026-11-21 11:00:00", "2026-11-21 12:00:00", true},
		"less than an hour ago":                    {distance(schedule.Hourly, 0), "2026-11-21 11:00:01", "2026-11-21 12:00:00", false},
		"twice an hour":                            {distance(schedule.Hourly, 2), "2026-11-21 11:30:00", "2026-11-21 12:00:00", true},
		"not three times an hour":                  {distance(schedule.Hourly, 2), "2026-11-21 11:40:00", "2026-11-21 12:00:00", false},
		"a day ago":                                {distance(schedule.Daily, 1), "2026-11-20 12:00:00", "2026-11-21 12:00:00", true},
		"less than a day ago":                      {distance(schedule.Daily, 1), "2026-11-20 12:00:01", "2026-11-21 12:00:00", false},
		"a day has 24 hours, also the shorter one": {distance(schedule.Daily, 1), "2026-03-28 12:00:00", "2026-03-29 12:00:00", false},
		"a week ago":                               {distance(schedule.Weekly, 1), "2026-11-14 12:00:00", "2026-11-21 12:00:00", true},
		"less than a week ago":                     {distance(schedule.Weekly, 1), "2026-11-14 12:00:01", "2026-11-21 12:00:00", false},
		"30 days ago":                              {distance(schedule.Monthly, 1), "2026-10-22 11:00:00", "2026-11-21 12:00:00", true},
		"29 days ago":                              {distance(schedule.Monthly, 1), "2026-10-23 11:00:00", "2026-11-21 12:00:00", false},
		"the same hour by number":                  {number(schedule.Hourly), "2026-11-21 12:00:00", "2026-11-21 12:59:59", false},
		"the next hour by number":                  {number(schedule.Hourly), "2026-11-21 12:59:59", "2026-11-21 13:00:00", true},
		"the same hour of another day":             {number(schedule.Hourly), "2026-11-20 12:00:00", "2026-11-21 12:30:00", true},
		"the same day by number":                   {number(schedule.Daily), "2026-11-21 00:00:00", "2026-11-21 23:59:59", false},
		"the next day by number":                   {number(schedule.Daily), "2026-11-20 23:59:59", "2026-11-21 00:00:00", true},
		"the same day of another month":            {number(schedule.Daily), "2026-10-21 12:00:00", "2026-11-21 12:00:00", true},
		"the same week by number":                  {number(schedule.Weekly), "2026-11-15 00:00:00", "2026-11-21 23:59:59", false},
		"the next week begins on Sunday":           {number(schedule.Weekly), "2026-11-21 23:59:59", "2026-11-22 00:00:00", true},
		"the same day of the next week":            {number(schedule.Weekly), "2026-11-16 12:00:00", "2026-11-23 09:00:00", true},
		"a week across a new year":                 {number(schedule.Weekly), "2026-12-28 12:00:00", "2027-01-02 12:00:00", false},
		"the same month by number":                 {number(schedule.Monthly), "2026-11-01 00:00:00", "2026-11-30 23:59:59", false},
		"the next month by number":                 {number(schedule.Monthly), "2026-10-31 23:59:59", "2026-11-01 00:00:00", true},
		"the same month of another year":           {number(schedule.Monthly), "2025-11-21 12:00:00", "2026-11-21 12:00:00", true},
		"a period in a range":                      {schedule.Schedule{Ranges: within(t, "2-4").Ranges, Period: schedule.Daily}, "2026-11-20 02:00:00", "2026-11-21 02:00:00", true},
		"a period out of a range":                  {schedule.Schedule{Ranges: within(t, "2-4").Ranges, Period: schedule.Daily}, "2026-11-20 02:00:00", "2026-11-21 05:00:00", false},
		"a clock that was put back is trusted":     {distance(schedule.Hourly, 0), "2026-11-22 12:00:00", "2026-11-21 12:00:00", true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := test.schedule.Due(at(t, test.last), at(t, test.now)); (err == nil) != test.due {
				t.Errorf("last %s, now %s: %v", test.last, test.now, err)
			}
		})
	}
}

// The hour that comes twice is two hours.
func TestRepeatedHourCountsAsTwoPeriods(t *testing.T) {
	zone := at(t, "2026-10-25 00:00:00").Location()
	first := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC).In(zone)
	second := first.Add(time.Hour)
	if err := (schedule.Schedule{Period: schedule.Hourly, ByNumber: true}).Due(first, second); err != nil {
		t.Errorf("%s and then %s: %v", first, second, err)
	}
}

// The reason says when the schedule allows the next check, and allows none before.
func TestReasonSaysWhen(t *testing.T) {
	by := func(s schedule.Schedule, p schedule.Period, byNumber bool) schedule.Schedule {
		s.Period, s.ByNumber = p, byNumber
		return s
	}
	const again = "already checked in this period of its schedule "
	for name, test := range map[string]struct {
		schedule  schedule.Schedule
		last, now string
		next      string // for the next check
		want      string
	}{
		"a range of today":                 {within(t, "22:00-04:00"), "", "2026-11-21 12:00:00", "2026-11-21 22:00:00", "next window begins 2026-11-21 22:00 CET"},
		"a range of tomorrow":              {within(t, "02:30-04:00"), "", "2026-11-21 04:00:01", "2026-11-22 02:30:00", "next window begins 2026-11-22 02:30 CET"},
		"the earliest of the ranges":       {within(t, "14-15", "13:00:05-15"), "", "2026-11-21 12:00:00", "2026-11-21 13:00:05", "next window begins 2026-11-21 13:00:05 CET"},
		"a range of a day of the week":     {on(within(t, "02:00-04:00"), time.Wednesday), "", "2026-11-21 03:00:00", "2026-11-25 02:00:00", "next window begins 2026-11-25 02:00 CET"},
		"a day of the week":                {on(schedule.Schedule{}, time.Monday), "", "2026-11-21 12:00:00", "2026-11-23 00:00:00", "next window begins 2026-11-23 00:00 CET"},
		"a range in summer time":           {within(t, "02:30-04:00"), "", "2026-03-28 12:00:00", "2026-03-29 03:30:00", "next window begins 2026-03-29 03:30 CEST"},
		"an hour":                          {by(schedule.Schedule{}, schedule.Hourly, false), "2026-11-21 11:30:00", "2026-11-21 12:00:00", "2026-11-21 12:30:00", again + "(hourly), due again 2026-11-21 12:30 CET"},
		"half an hour":                     {schedule.Schedule{Period: schedule.Hourly, Repeat: 2}, "2026-11-21 11:45:10", "2026-11-21 12:00:00", "2026-11-21 12:15:10", again + "(hourly), due again 2026-11-21 12:15:10 CET"},
		"an hour by number":                {by(schedule.Schedule{}, schedule.Hourly, true), "2026-11-21 12:00:00", "2026-11-21 12:20:30", "2026-11-21 13:00:00", again + "(hourly), due again 2026-11-21 13:00 CET"},
		"a day by number":                  {by(schedule.Schedule{}, schedule.Daily, true), "2026-11-21 02:00:00", "2026-11-21 12:00:00", "2026-11-22 00:00:00", again + "(daily), due again 2026-11-22 00:00 CET"},
		"a week by number":                 {by(schedule.Schedule{}, schedule.Weekly, true), "2026-11-16 02:00:00", "2026-11-16 12:00:00", "2026-11-22 00:00:00", again + "(weekly), due again 2026-11-22 00:00 CET"},
		"a month by number":                {by(schedule.Schedule{}, schedule.Monthly, true), "2026-11-01 02:00:00", "2026-11-01 12:00:00", "2026-12-01 00:00:00", again + "(monthly), due again 2026-12-01 00:00 CET"},
		"a month, in a range of a day":     {by(on(within(t, "02:00-04:00"), time.Wednesday), schedule.Monthly, false), "2026-11-04 03:00:00", "2026-11-05 12:00:00", "2026-12-09 02:00:00", again + "(monthly), due again 2026-12-09 02:00 CET"},
		"a day, in a range":                {by(within(t, "02:00-04:00"), schedule.Daily, false), "2026-11-21 03:10:00", "2026-11-21 12:00:00", "2026-11-22 03:10:00", again + "(daily), due again 2026-11-22 03:10 CET"},
		"a range in which it was long ago": {by(within(t, "02:00-04:00"), schedule.Daily, false), "2026-11-19 03:10:00", "2026-11-21 12:00:00", "2026-11-22 02:00:00", "next window begins 2026-11-22 02:00 CET"},
		"never":                            {by(within(t, "02:00-04:00"), schedule.Never, false), "", "2026-11-21 12:00:00", "", "the period of its schedule is never"},
	} {
		t.Run(name, func(t *testing.T) {
			last, now := at(t, test.last), at(t, test.now)
			wantError(t, test.schedule.Due(last, now), "not scheduled: "+test.want)
			next := test.schedule.Next(last, now)
			if !next.Equal(at(t, test.next)) {
				t.Fatalf("the next time is %s", next)
			}
			for earlier := now; earlier.Before(next); earlier = earlier.Add(max(time.Minute, next.Sub(now)/1500)) {
				if test.schedule.Due(last, earlier) == nil {
					t.Fatalf("it is due at %s", earlier)
				}
			}
			if !next.IsZero() {
				if err := test.schedule.Due(last, next); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestInvalidSchedulesAreReported(t *testing.T) {
	for text, want := range map[string]string{
		"2":           `range "2" is not two times of day: write it as 22:00-04:00`,
		"2-4-6":       `range "2-4-6" is not two times of day: write it as 22:00-04:00`,
		"24:00-04:00": `range "24:00-04:00": invalid time of day "24:00": write it as 04:00, from 00:00 to 23:59:59`,
		"22:60-04:00": `range "22:60-04:00": invalid time of day "22:60": write it as 04:00, from 00:00 to 23:59:59`,
		"22:00-4:0":   `range "22:00-4:0": invalid time of day "4:0": write it as 04:00, from 00:00 to 23:59:59`,
	} {
		_, err := schedule.ParseTimeRange(text)
		wantError(t, err, want)
	}
	_, err := schedule.ParseWeekday("Monday")
	wantError(t, err, `invalid weekday "Monday": write Mon, Tue, Wed, Thu, Fri, Sat or Sun`)
	_, err = schedule.ParsePeriod("yearly")
	wantError(t, err, `invalid period "yearly": write hourly, daily, weekly, monthly or never`)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
