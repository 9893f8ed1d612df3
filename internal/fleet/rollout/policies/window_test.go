package policies_test

import (
	"testing"
	"time"
)

func TestAWindowPassesInVain(t *testing.T) {
	t.Parallel()
	// 22:00 to 04:00 in Berlin, which is 21:00 to 03:00 in UTC. It is Friday, 12:00.
	const window = "window: {range: ['22:00-04:00'], weekday: [Tue, Thu], timeZone: Europe/Berlin}"
	day := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC) }
	for name, tt := range map[string]struct {
		spec              string
		waiting, admitted time.Time
		want              bool
	}{
		"no node was admitted in the last window": {window, day(26, 12), time.Time{}, true},
		"a node was admitted in it":               {window, day(26, 12), day(26, 23), false},
		"a node was admitted in the one before":   {window, day(24, 12), day(24, 23), true},
		"the revision waits since it closed":      {window, day(27, 5), time.Time{}, false},
		"the revision waits since it was open":    {window, day(26, 22), time.Time{}, false},
		"the revision has waited for a month":     {window, day(-3, 12), time.Time{}, true},
		"the window is still open":                {"window: {weekday: [Fri]}", day(26, 12), time.Time{}, false},
		"the window never closes":                 {"window: {range: ['00:00-00:00']}", day(20, 12), time.Time{}, false},
		"there is no window":                      {"", day(20, 12), time.Time{}, false},
		"the window is invalid":                   {"window: {}", day(20, 12), time.Time{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := setOf(newPolicy(t, "web", tt.spec)).WindowUnused("web", tt.waiting, tt.admitted, now); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestAWindowStaysShortWhileClocksChange(t *testing.T) {
	t.Parallel()
	const twoToThree = "window: {range: ['02:00-03:00'], timeZone: Europe/Berlin}"
	march := func(day, hour, minute int) time.Time { return time.Date(2026, 3, day, hour, minute, 0, 0, time.UTC) }
	for name, tt := range map[string]struct {
		spec string
		now  time.Time
		want string // when it opens; "" if it is open
	}{
		"a window of the skipped hour leaves that day out": {twoToThree, march(29, 1, 0), "Mon 2026-03-30 02:00 CEST"},
		"so it does before": {twoToThree, march(28, 12, 0), "Mon 2026-03-30 02:00 CEST"},
		"and after":         {twoToThree, march(29, 12, 0), "Mon 2026-03-30 02:00 CEST"},
		"a window that ends in the hour opens as it says":      {"window: {range: ['01:30-02:15'], timeZone: America/New_York}", march(8, 6, 30), ""},
		"it closes when it has been open for as long as usual": {"window: {range: ['01:30-02:15'], timeZone: America/New_York}", march(8, 7, 16), "Mon 2026-03-09 01:30 EDT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := setOf(newPolicy(t, "web", tt.spec)).Stop("web", tt.now)
			want := ""
			if tt.want != "" {
				want = "spec.window opens " + tt.want
			}
			if is.Message != want {
				t.Errorf("got %+v", is)
			}
		})
	}
}
