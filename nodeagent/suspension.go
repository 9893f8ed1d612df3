package nodeagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/state"
)

// A suspendedError reports that runs are disabled by the NodeCatalog or the Fleet.
type suspendedError string

// Error names who disabled runs, and the fix.
func (e suspendedError) Error() string { return string(e) }

// disabledIn returns why a spec disables runs at a time, in sentences; none if it does not. next is when that may be another answer
// because time passes; zero for never.
func disabledIn(spec v1alpha1.NodeCatalogSpec, node string, now time.Time) (why []string, next time.Time) {
	for _, d := range []struct {
		*v1alpha1.Disabled
		what, command string
	}{
		{spec.Disabled, "for this node", "kubectl fettle enable " + node},
		{spec.FleetDisabled, "for all nodes", "kubectl fettle enable --all"},
	} {
		if !d.InEffect(now) {
			continue
		}
		until := ""
		if d.Until != nil {
			until = " until " + d.Until.UTC().Format(time.RFC3339)
			next = earliest(next, d.Until.Time)
		}
		why = append(why, fmt.Sprintf("runs are disabled %s%s (%s): enable them with %s", d.what, until, cmp.Or(d.Reason, "no reason was given"), d.command))
	}
	return why, next
}

// disabledByNodeCatalog returns why the NodeCatalog disables runs, as it is now: also while a run keeps the agent from handling it. next is when
// that may be another answer.
func (a *Agent) disabledByNodeCatalog() (why []string, next time.Time) {
	return disabledIn(a.specOf(a.objects.take()), a.Node, a.Clock.Now())
}

// suspended returns an error if the NodeCatalog disables runs.
func (a *Agent) suspended() error {
	if why, _ := a.disabledByNodeCatalog(); len(why) > 0 {
		return suspendedError(strings.Join(why, "; "))
	}
	return nil
}

// whyDisabled returns why runs are disabled, by the host, the NodeCatalog or the Fleet; "" if they are enabled.
func (a *Agent) whyDisabled() string {
	why, _ := a.disabledByNodeCatalog()
	if err := state.Disabled(a.StateDir); err != nil {
		why = append([]string{err.Error()}, why...)
	}
	return strings.Join(why, "; ")
}

// isDisabled reports whether an error of a run says that runs are disabled.
func isDisabled(err error) bool {
	_, onHost := errors.AsType[*state.DisabledError](err)
	_, inCluster := errors.AsType[suspendedError](err)
	return onHost || inCluster
}

// suspensionDue returns when runs may be enabled because time passes; zero for never.
func (a *Agent) suspensionDue() time.Time {
	_, next := a.disabledByNodeCatalog()
	return next
}

// reportedDisabled returns why runs were disabled when the agent last tried to run; "" if they were not.
func (a *Agent) reportedDisabled() string {
	if a.failure == nil || a.failure.Reason != v1alpha1.ReasonDisabled {
		return ""
	}
	return a.failure.Message
}

// checkDisabled reports that runs are disabled, and runs once they are enabled. It returns false if it had neither to do.
func (a *Agent) checkDisabled(ctx context.Context) bool {
	switch why := a.whyDisabled(); {
	case why == a.reportedDisabled():
		return false
	case why == "":
		a.failure = nil
		a.assembleAndApply(ctx)
	default:
		a.onRunError(nil, suspendedError(why), a.failure)
	}
	return true
}

// followMarks has the target follow a NodeCatalog of which only marks have changed: whether it is held, whether runs are disabled, and its revision.
// Nothing is to be applied for that. It returns false for another one.
func (a *Agent) followMarks(nc *v1alpha1.NodeCatalog) bool {
	next := a.target.Follow(nc)
	if next == nil {
		return false
	}
	a.published.followMarks(a.target, next)
	a.target = next
	if !a.assembling { // in the background, which saves another target
		a.catalogs.SaveMarks(next)
	}
	return true
}
