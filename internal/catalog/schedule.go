package catalog

import (
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource/schedule"
)

// schedule parses a schedule. The schema of the API has the same rules, but not every manifest passes through an API
// server.
func scheduleOf(s v1alpha1.Schedule) (*schedule.Schedule, error) {
	out := &schedule.Schedule{ByNumber: s.PeriodMatch == "number", Repeat: int(s.Repeat)}
	var errs []error
	for _, text := range s.Range {
		r, err := schedule.ParseTimeRange(string(text))
		out.Ranges, errs = append(out.Ranges, r), append(errs, err)
	}
	for _, text := range s.Weekday {
		day, err := schedule.ParseWeekday(string(text))
		out.Weekdays, errs = append(out.Weekdays, day), append(errs, err)
	}
	period, err := schedule.ParsePeriod(string(s.Period))
	out.Period = period
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, fmt.Errorf("schedule: %w", err)
	}
	return out, nil
}
