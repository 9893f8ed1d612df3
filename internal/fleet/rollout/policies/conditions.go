package policies

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
)

// An Outcome is what a reconciliation decided for a policy: everything that determines its conditions.
type Outcome struct {
	Policy string // its name
	// Status has what was decided, and the conditions of before.
	Status     v1alpha1.RolloutPolicyStatus
	Generation int64
	// Stop is why no further node is admitted at present.
	Stop Stop
	// Waits is why the policy does not aim at the newest revision, and Aim is the revision that it aims at, "" for none.
	Waits Stop
	Aim   string
	// Newest is the newest revision of all, "" if none has been compiled.
	Newest string
	// Repaired is true if Newest changes something that the target changed, too.
	Repaired bool
	// Elsewhere is how many nodes could get the stable revision at rest, and do not have it yet.
	Elsewhere int
	// Halted is true if more nodes failed than MaxFailed, which is how many may fail of those that were admitted.
	Halted    bool
	MaxFailed int
	// Unproven is true if no affected node can try the target.
	Unproven bool
	// Conflicts are nodes that the policy selects and others, too, which are ConflictWith.
	Conflicts, ConflictWith []string
	Now                     time.Time
}

// A state is the conditions of a policy in short.
type state struct {
	ready   metav1.ConditionStatus
	stalled bool
	reason  string
	message string
}

// Conditions returns Ready, Reconciling and Stalled, followed by the conditions that others set, for gates. As kstatus wants it, a
// policy that rolls out, is paused or waits is Reconciling; one that a person must look at is Stalled; and one at rest is Ready. A
// policy is never both Reconciling and Stalled. Conditions that stay as they were before keep their LastTransitionTime.
func Conditions(o Outcome) []metav1.Condition {
	s := o.state()
	reconciling, stalled := "", ""
	switch {
	case s.stalled:
		stalled = s.reason
	case s.ready != metav1.ConditionTrue:
		reconciling = s.reason
	}
	all := []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: s.ready, Reason: s.reason, Message: s.message},
		abnormal(v1alpha1.ConditionReconciling, reconciling, s.message),
		abnormal(v1alpha1.ConditionStalled, stalled, s.message),
	}
	for i := range all {
		o.date(&all[i])
	}
	return append(all, foreign(o.Status.Conditions)...)
}

// abnormal returns a condition that is True for a reason, or False without one.
func abnormal(kind, reason, message string) metav1.Condition {
	if reason == "" {
		return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSettled}
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// date completes a condition.
func (o Outcome) date(c *metav1.Condition) {
	c.Message = text.Clip(text.Line(c.Message), maxMessage)
	c.ObservedGeneration, c.LastTransitionTime = o.Generation, metav1.NewTime(o.Now)
	if before := meta.FindStatusCondition(o.Status.Conditions, c.Type); before != nil && before.Status == c.Status {
		c.LastTransitionTime = before.LastTransitionTime
	}
}

// maxMessage bounds a message, in bytes. The API allows 32 KiB.
const maxMessage = 4 << 10

// foreign returns the conditions that others set.
func foreign(all []metav1.Condition) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(all), func(c metav1.Condition) bool {
		return c.Type == v1alpha1.ConditionReady || c.Type == v1alpha1.ConditionReconciling || c.Type == v1alpha1.ConditionStalled
	})
}

// state returns the first of the states that apply: those that need a person, those that stop a change, and rest.
func (o Outcome) state() state {
	for _, find := range []func() (state, bool){o.stuck, o.waiting, o.moving} {
		if s, found := find(); found {
			return s
		}
	}
	return o.atRest()
}

// stuck returns what needs a person.
func (o Outcome) stuck() (state, bool) {
	stalled := func(reason, message string) (state, bool) {
		return state{metav1.ConditionFalse, true, reason, message}, true
	}
	switch {
	case o.Stop.Stalled && o.Stop.Reason == v1alpha1.ReasonInvalidPolicy:
		return stalled(o.Stop.Reason, o.Stop.Message)
	case o.Waits.Stalled:
		return stalled(o.Waits.Reason, o.Waits.Message)
	case o.Halted && !o.replaced():
		return stalled(v1alpha1.ReasonRolloutHalted, o.halted())
	case o.Stop.Stalled && o.changing():
		return stalled(o.Stop.Reason, o.progress(o.Stop.Message))
	case len(o.Conflicts) > 0:
		return stalled(v1alpha1.ReasonNodeConflict, o.conflict())
	}
	return state{}, false
}

// waiting returns what holds back a change.
func (o Outcome) waiting() (state, bool) {
	waits := func(s Stop) (state, bool) {
		return state{metav1.ConditionFalse, false, s.Reason, o.progress(s.Message)}, true
	}
	switch {
	case !o.changing():
	case o.Stop.Reason == v1alpha1.ReasonPaused:
		return waits(o.Stop)
	case o.Status.Target == "" && o.Waits.Reason == v1alpha1.ReasonWaitingForPolicy && !o.beginning():
		return waits(o.Waits)
	case o.Stop.Stops():
		return waits(o.Stop)
	}
	return state{}, false
}

// moving returns the progress of a rollout.
func (o Outcome) moving() (state, bool) {
	rolling := func(reason, message string) (state, bool) {
		return state{metav1.ConditionFalse, false, reason, message}, true
	}
	switch {
	case o.Status.Stable == "":
		return rolling(v1alpha1.ReasonRollingOut, "no revision has been compiled yet")
	case o.Unproven && o.Status.Target != "":
		return rolling(v1alpha1.ReasonRolloutUnproven, o.unproven())
	case o.Status.Target != "":
		return rolling(v1alpha1.ReasonRollingOut, o.progress(o.pending()))
	case o.Elsewhere > 0:
		return rolling(v1alpha1.ReasonRollingOut, o.progress(""))
	case o.beginning():
		return rolling(v1alpha1.ReasonRollingOut, "revision "+v1alpha1.ShortRevision(o.Aim)+" begins once nothing has been edited for a moment")
	}
	return state{}, false
}

// atRest is Ready: the nodes have what the policy wants them to have.
func (o Outcome) atRest() state {
	ready := func(reason, message string) state { return state{metav1.ConditionTrue, false, reason, message} }
	switch {
	case o.Waits.Reason == v1alpha1.ReasonPinned:
		return ready(v1alpha1.ReasonPinned, o.Waits.Message)
	case o.Stop.Reason == v1alpha1.ReasonPaused:
		return ready(v1alpha1.ReasonPaused, o.rest(o.Stop.Message))
	case o.Status.Nodes.Total == 0:
		return ready(v1alpha1.ReasonNoNodesTaken, "no node matches spec.nodeSelector, or other policies take all that do")
	case o.Stop.Reason == v1alpha1.ReasonGateFailed:
		return ready(v1alpha1.ReasonRolledOut, o.rest("the next change will not begin: "+o.Stop.Message))
	}
	return ready(v1alpha1.ReasonRolledOut, o.rest(""))
}

// changing reports whether a rollout is in progress, or would be if nothing held it back.
func (o Outcome) changing() bool {
	return o.Status.Target != "" || o.Elsewhere > 0 || o.beginning() || o.Waits.Reason == v1alpha1.ReasonWaitingForPolicy
}

// beginning reports whether a rollout is about to begin.
func (o Outcome) beginning() bool {
	return o.Status.Target == "" && o.Status.Stable != "" && o.Aim != "" && o.Aim != o.Status.Stable
}

// replaced reports whether another revision is about to take the place of the target, or a fix of it will once other policies have completed it.
// Then nobody has to act on a halt: who has fixed something would otherwise be told that it failed.
func (o Outcome) replaced() bool {
	isAbout := o.Aim != "" && o.Aim != o.Status.Target
	return o.Status.Target != "" && (isAbout || o.Repaired && o.Waits.Reason == v1alpha1.ReasonWaitingForPolicy)
}
