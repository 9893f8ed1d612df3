package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/resource/schedule"
)

// A range that is read holds at both of its ends, whatever the day, and reads the same
// when it is written in full.
func FuzzParseTimeRange(f *testing.F) {
	for _, text := range []string{"22:00-04:00", "2 - 5", "00:00:00-23:59:59", "4-4", "24:00-1", "1:60-2", "", "-", "1:2:3:4-5"} {
		f.Add(text, uint16(300), uint32(3600))
	}
	f.Fuzz(func(t *testing.T, text string, day uint16, second uint32) {
		r, err := schedule.ParseTimeRange(text)
		if err != nil {
			return
		}
		full := fmt.Sprintf("%02d:%02d:%02d-%02d:%02d:%02d", r.From.Hour, r.From.Minute, r.From.Second, r.To.Hour, r.To.Minute, r.To.Second)
		if again, err := schedule.ParseTimeRange(full); err != nil || again != r {
			t.Errorf("%q is %+v, written in full %+v, %v", text, r, again, err)
		}
		s := schedule.Schedule{Ranges: []schedule.TimeRange{r}}
		for _, c := range []schedule.Clock{r.From, r.To} {
			now := time.Date(2026, 1, 1+int(day), c.Hour, c.Minute, c.Second, 0, time.UTC)
			if err := s.Due(time.Time{}, now); err != nil {
				t.Errorf("%q at %s: %v", text, now, err)
			}
		}
		// Of two times that a day is apart both are in it, or neither.
		now := time.Date(2026, 1, 1+int(day), 0, 0, int(second%86400), 0, time.UTC)
		if today, tomorrow := s.Due(time.Time{}, now), s.Due(time.Time{}, now.AddDate(0, 0, 1)); (today == nil) != (tomorrow == nil) {
			t.Errorf("%q at %s: %v, and the day after: %v", text, now, today, tomorrow)
		}
	})
}
