package nodeagent

import (
	"errors"

	"github.com/fettle-dev/fettle/internal/drift"
)

// watchHost watches the host for drift and for disabled runs, as far as it does not yet. The kernel limits the watches of all
// processes of a user together, so it may fail now and work later: each run tries again.
func (a *Agent) watchHost() error {
	var errs []error
	if a.Watch && a.lookout == nil {
		lookout, err := drift.New(a.watched, a.Interval)
		if errs = append(errs, err); err == nil {
			a.lookout, a.runner.lookout, a.runner.idle = lookout, lookout, a.correctMeanwhile
		}
	}
	if a.disabled == nil {
		disabled, err := watchDisabled(a.watched, a.HostStateDir)
		if errs = append(errs, err); err != nil {
			disabled.close()
		} else {
			a.disabled = disabled
		}
	}
	return errors.Join(errs...)
}
