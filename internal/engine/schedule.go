package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// schedule fills in whether this is the time for a resource. A period
// says nothing of what leaves.
func (r *run) schedule(e *entry) {
	if e.Schedule == nil || r.IgnoreSchedules || e.situation.Invalid != nil {
		return
	}
	zone, err := r.zone()
	if err != nil {
		e.situation.Invalid = fmt.Errorf("cannot tell the times of its schedule: %w", err)
		return
	}
	var last time.Time
	if e.Deletes == nil {
		last = r.Store.Checked(e.thing)
	}
	e.situation.Unscheduled = e.Schedule.Due(last, r.Now().In(zone))
	e.report.Left = e.situation.Unscheduled != nil && !last.IsZero()
}

// localTime is where a host says which zone it is in.
const localTime = "/etc/localtime"

// zone is that of the host, which is read once. A host that says nothing has UTC.
func (r *run) zone() (*time.Location, error) {
	if r.location != nil {
		return r.location, nil
	}
	rules, err := r.reader.ReadFile(localTime)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.location = time.UTC
	case err != nil:
		return nil, fmt.Errorf("cannot read the host's time zone: %w", err)
	default:
		if r.location, err = time.LoadLocationFromTZData(localTime, rules); err != nil {
			return nil, fmt.Errorf("cannot read the host's time zone from %s: %w", localTime, err)
		}
	}
	return r.location, nil
}

// check remembers when a resource that has a schedule was looked at.
func (r *run) check(e *entry) {
	if e.Schedule != nil && e.looked {
		r.Store.SetChecked(e.thing, e.began)
	}
}
