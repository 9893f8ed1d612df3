package schedule_test

import (
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/resource/schedule"
)

func TestAScheduleClosesAtTheEndOfARangeOrDay(t *testing.T) {
	const beyond = time.Nanosecond // a range includes its end
	for name, test := range map[string]struct {
		schedule   schedule.Schedule
		now, want  string
		andAnother time.Duration
	}{
		"after a range":                     {within(t, "02:00-04:00"), "2026-11-21 03:00:00", "2026-11-21 04:00:00", beyond},
		"at the end of a range":             {within(t, "02:00-04:00"), "2026-11-21 04:00:00", "2026-11-21 04:00:00", beyond},
		"after the last of those that meet": {within(t, "02:00-04:00", "04:00-06:00"), "2026-11-21 03:00:00", "2026-11-21 06:00:00", beyond},
		"after midnight":                    {within(t, "22:00-04:00"), "2026-11-21 23:00:00", "2026-11-22 04:00:00", beyond},
		"at the end of a day":               {on(schedule.Schedule{}, time.Saturday), "2026-11-21 12:00:00", "2026-11-22 00:00:00", 0},
		"at the end of the last day":        {on(schedule.Schedule{}, time.Saturday, time.Sunday), "2026-11-21 12:00:00", "2026-11-23 00:00:00", 0},
		"at the end of a range on a day":    {on(within(t, "22:00-04:00"), time.Saturday), "2026-11-21 23:00:00", "2026-11-22 04:00:00", beyond},
		"as summer time ends":               {within(t, "01:00-02:59"), "2026-10-25 02:30:00", "2026-10-25 02:59:00", beyond},
		"never if it is open all day":       {within(t, "04:00-04:00"), "2026-11-21 12:00:00", "", 0},
		"never without ranges and days":     {schedule.Schedule{}, "2026-11-21 12:00:00", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			want := at(t, test.want)
			if test.andAnother > 0 {
				want = want.Add(test.andAnother)
			}
			if got := test.schedule.Closes(at(t, test.now)); !got.Equal(want) {
				t.Errorf("it closes at %s, want %s", got, want)
			}
		})
	}
}
