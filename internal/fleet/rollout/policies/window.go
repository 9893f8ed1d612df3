package policies

import (
	"errors"
	"fmt"
	"time"
	_ "time/tzdata" // the image of the manager has no time zone database

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource/schedule"
)

// window is a time of the week in a time zone.
type window struct {
	schedule schedule.Schedule
	zone     *time.Location
}

// parseWindow returns nil if w is nil. The schema of the API has most of these rules, but not every object has passed the present one.
func parseWindow(w *v1alpha1.RolloutWindow) (*window, error) {
	if w == nil {
		return nil, nil
	}
	out := &window{}
	var errs []error
	for _, text := range w.Range {
		r, err := schedule.ParseTimeRange(string(text))
		out.schedule.Ranges, errs = append(out.schedule.Ranges, r), append(errs, err)
	}
	for _, text := range w.Weekday {
		day, err := schedule.ParseWeekday(string(text))
		out.schedule.Weekdays, errs = append(out.schedule.Weekdays, day), append(errs, err)
	}
	if len(w.Range)+len(w.Weekday) == 0 {
		errs = append(errs, errors.New("it is empty: set range or weekday, or remove it"))
	}
	zone, err := parseZone(w.TimeZone)
	out.zone = zone
	return out, errors.Join(append(errs, err)...)
}

// parseZone rejects Local, which depends on where the manager runs.
func parseZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("timeZone %q is unknown: write a name of the IANA database, such as Europe/Berlin", name)
	}
	return zone, nil
}

// stop is why a window does not allow now, and when that changes.
func (w *window) stop(now time.Time) Stop {
	now = now.In(w.zone)
	if w.schedule.Due(time.Time{}, now) == nil {
		return Stop{Until: w.schedule.Closes(now)}
	}
	opens := w.schedule.Next(time.Time{}, now)
	if opens.IsZero() {
		return invalid("spec.window never opens: change range or weekday, or remove it")
	}
	return Stop{Reason: v1alpha1.ReasonWaitingForWindow, Message: "spec.window opens " + opens.Format("Mon 2006-01-02 15:04 MST"), Until: opens}
}

// WindowUnused reports whether the last window of a policy passed in vain: it opened after a revision began to wait, has closed, and no
// node was admitted since it opened. admitted is when a node last was; zero for never. It is false without a window.
func (s *Set) WindowUnused(name string, waiting, admitted, now time.Time) bool {
	p := s.named[name]
	if p == nil || p.window == nil || p.fault != "" {
		return false
	}
	opened := p.window.lastClosed(waiting, now)
	return !opened.IsZero() && admitted.Before(opened)
}

// lookback is longer than the time between two openings of a window, unless clocks skip one of them.
const lookback = 8 * 24 * time.Hour

// lastClosed returns when the last window opened that opened after a time and has closed since; zero if there is none.
func (w *window) lastClosed(after, now time.Time) (last time.Time) {
	if earliest := now.Add(-lookback); after.Before(earliest) {
		after = earliest
	}
	opens := after.In(w.zone)
	if w.schedule.Due(time.Time{}, opens) == nil { // it opened before
		opens = w.schedule.Closes(opens)
	}
	for !opens.IsZero() {
		if opens = w.schedule.Next(time.Time{}, opens); opens.IsZero() {
			break
		}
		closes := w.schedule.Closes(opens)
		if closes.IsZero() || closes.After(now) {
			break
		}
		last, opens = opens, closes
	}
	return last
}
