package rollout_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/fleet/rollout"
)

// at is an observation at a number of seconds after noon.
type at struct {
	seconds int
	sees    func(*rollout.Observation)
}

// phase is what follows from observations.
type phase struct {
	rollout.Phase
	Reason, Message string
	Changes         time.Duration
}

func TestPhases(t *testing.T) {
	t.Parallel()

	type o = rollout.Observation
	well := func(o *o) {}
	elsewhere := func(o *o) { o.AtGoal, o.Digest = false, "other" }
	unapplied := func(o *o) { o.Applied = false }
	failsNewly := func(o *o) { o.Failing, o.FailingNew = "File/a: no space", true }
	failedBefore := func(o *o) { o.Failing = "File/a: no space" }
	unrepaired := func(o *o) { o.Failing, o.Unrepaired = "File/a: no space", true }
	notReady := func(o *o) { o.NotReady, o.NotReadySince = true, noon.Add(5*time.Second) }
	wasNotReady := func(o *o) { o.NotReady, o.NotReadySince = true, noon.Add(-time.Hour) }
	silent := func(o *o) { o.Silent = true }
	disabled := func(o *o) { o.Disabled = true }
	untried := func(o *o) { o.Untried = true }
	refused := func(o *o) { o.AtGoal, o.Digest, o.Refused = false, "other", "too large" }
	both := func(a, b func(*o)) func(*o) { return func(x *o) { a(x); b(x) } }
	leaving := func(f func(*o)) func(*o) { return both(f, func(o *o) { o.Leaving = true }) }
	sinceUnknown := func(f func(*o)) func(*o) { return both(f, func(o *o) { o.Since = time.Time{} }) }

	proven := phase{Phase: rollout.Proven}
	failed := phase{rollout.Failed, "Failed", "File/a: no space", 0}
	timedOut := phase{rollout.Failed, "TimedOut", "has not applied it within 10m0s", 0}
	unsettled := phase{rollout.Failed, "TimedOut", "was not well for 2m0s at a time within 14m0s", 0}
	lostReady := phase{rollout.Failed, "NotReady", "the Node is not Ready", 0}
	excluded := func(message string) phase { return phase{rollout.Excluded, "", message, 0} }
	soaking := func(changes time.Duration) phase { return phase{rollout.Soaking, "", "", changes} }
	for name, tt := range map[string]struct {
		observed []at
		want     phase
	}{
		"a node for which the goal is refused":                    {[]at{{0, refused}}, phase{rollout.Soaking, "", "too large", time.Minute}},
		"a node for which the goal is refused for a minute":       {[]at{{0, refused}, {60, refused}}, phase{rollout.Failed, "Failed", "too large", 0}},
		"a node without the goal waits":                           {[]at{{0, elsewhere}}, phase{Phase: rollout.Waiting}},
		"a node that has yet to apply it":                         {[]at{{0, unapplied}, {60, unapplied}}, phase{rollout.Applying, "", "", 9 * time.Minute}},
		"a node that has just applied it":                         {[]at{{0, well}}, soaking(2 * time.Minute)},
		"a node that has been well for long enough":               {[]at{{0, well}, {120, well}}, proven},
		"a node that was well when it had something else":         {[]at{{0, elsewhere}, {120, well}}, soaking(2 * time.Minute)},
		"a node that failed meanwhile begins again":               {[]at{{0, well}, {60, failsNewly}, {119, well}, {121, well}}, soaking(118 * time.Second)},
		"a node that was silent meanwhile begins again":           {[]at{{0, well}, {60, silent}, {119, well}, {121, well}}, soaking(118 * time.Second)},
		"a node that was disabled meanwhile begins again":         {[]at{{0, well}, {60, disabled}, {119, well}, {121, well}}, soaking(118 * time.Second)},
		"a node that was not Ready meanwhile begins again":        {[]at{{0, well}, {60, notReady}, {119, well}, {121, well}}, soaking(118 * time.Second)},
		"a node whose clock was set back begins again":            {[]at{{0, well}, {-3600, well}, {-3540, well}}, soaking(time.Minute)},
		"a failure may end by itself":                             {[]at{{0, failsNewly}, {59, failsNewly}}, phase{rollout.Soaking, "", "File/a: no space", time.Second}},
		"a failure that lasts":                                    {[]at{{0, failsNewly}, {60, failsNewly}}, failed},
		"a failure of a node that had proven the goal":            {[]at{{0, well}, {120, well}, {130, failsNewly}, {190, failsNewly}}, failed},
		"a failure that was there before proves nothing wrong":    {[]at{{0, failedBefore}, {120, failedBefore}}, proven},
		"a node that does not apply it in time":                   {[]at{{0, unapplied}, {600, unapplied}}, timedOut},
		"a node whose facts changed has the whole time again":     {[]at{{0, func(o *o) { o.Applied, o.Digest = false, "before" }}, {599, unapplied}, {600, unapplied}}, phase{rollout.Applying, "", "", 240 * time.Second}},
		"a node whose facts change again and again":               {[]at{{0, func(o *o) { o.Applied, o.Digest = false, "before" }}, {500, unapplied}, {840, func(o *o) { o.Applied, o.Digest = false, "later" }}}, unsettled},
		"a node that fails and recovers again and again":          {[]at{{0, well}, {60, failsNewly}, {110, well}, {210, failsNewly}, {260, well}, {840, failsNewly}}, unsettled},
		"an agent that was marked as silent before":               {[]at{{0, both(silent, func(o *o) { o.SilentSince = noon.Add(-time.Minute) })}}, excluded("its agent is silent")},
		"an agent that was marked as silent since":                {[]at{{0, both(silent, func(o *o) { o.SilentSince = noon.Add(time.Second) })}}, phase{rollout.Failed, "Silent", "its agent is silent", 0}},
		"an agent that was heard, whatever clocks say":            {[]at{{0, well}, {1, both(silent, func(o *o) { o.SilentSince = noon.Add(-time.Minute) })}}, phase{rollout.Failed, "Silent", "its agent is silent", 0}},
		"a failure after the node was sound, whatever clocks say": {[]at{{0, well}, {10, failedBefore}, {70, failedBefore}}, failed},
		"a node that a replaced target broke proves nothing":      {[]at{{0, unrepaired}, {600, unrepaired}}, phase{rollout.Soaking, "", "File/a: no space", 4 * time.Minute}},
		"it fails in the end":                                     {[]at{{0, unrepaired}, {840, unrepaired}}, unsettled},
		"it proves its fix once it is repaired":                   {[]at{{0, unrepaired}, {60, well}, {180, well}}, proven},
		"a node that was disabled has the whole time again":       {[]at{{0, unapplied}, {599, both(unapplied, disabled)}, {600, unapplied}}, phase{rollout.Applying, "", "", 10 * time.Minute}},
		"a Node that stays not Ready":                             {[]at{{0, notReady}, {60, notReady}}, lostReady},
		"a Node that was not Ready before":                        {[]at{{0, wasNotReady}, {120, wasNotReady}}, proven},
		"a Node that was not Ready only a moment before":          {[]at{{0, func(o *o) { o.NotReady, o.NotReadySince = true, noon.Add(-time.Minute) }}, {60, func(o *o) { o.NotReady, o.NotReadySince = true, noon.Add(-time.Minute) }}}, lostReady},
		"a Node that was Ready, whatever clocks say":              {[]at{{0, well}, {10, wasNotReady}, {70, wasNotReady}}, lostReady},
		"a Node that is not Ready, moved at an unknown time":      {[]at{{0, sinceUnknown(wasNotReady)}, {60, sinceUnknown(wasNotReady)}}, lostReady},
		"an agent that falls silent":                              {[]at{{0, well}, {1, silent}}, phase{rollout.Failed, "Silent", "its agent is silent", 0}},
		"an agent that was silent before":                         {[]at{{0, both(elsewhere, silent)}, {1, silent}, {2, silent}}, excluded("its agent is silent")},
		"an agent that was silent before, and is heard":           {[]at{{0, both(elsewhere, silent)}, {1, both(silent, unapplied)}, {700, unapplied}}, phase{rollout.Applying, "", "", 10 * time.Minute}},
		"an agent that was silent before, and is again":           {[]at{{0, both(elsewhere, silent)}, {1, well}, {2, silent}}, phase{rollout.Failed, "Silent", "its agent is silent", 0}},
		"an agent whose runs are disabled":                        {[]at{{0, both(disabled, unapplied)}, {900, both(disabled, unapplied)}}, excluded("its runs are disabled")},
		"a node that is removed may prove the goal":               {[]at{{0, leaving(well)}, {120, leaving(well)}}, proven},
		"a node that falls silent because it is removed":          {[]at{{0, leaving(well)}, {1, leaving(silent)}}, excluded("is being removed")},
		"a Node that is not Ready because it is removed":          {[]at{{0, leaving(notReady)}, {60, leaving(notReady)}}, excluded("is being removed")},
		"a node where nothing was changed has not tried it":       {[]at{{0, untried}, {600, untried}}, phase{rollout.Untried, "", "skips or only reports what changes", 0}},
		"a node where nothing was changed may still fail":         {[]at{{0, both(untried, failsNewly)}, {60, both(untried, failsNewly)}}, failed},
		"a node where nothing was changed has to apply it":        {[]at{{0, both(untried, unapplied)}}, phase{rollout.Applying, "", "", 10 * time.Minute}},
		"the first of several changes is announced":               {[]at{{0, unapplied}, {570, both(unapplied, failsNewly)}}, phase{rollout.Applying, "", "File/a: no space", 30 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tracker rollout.Tracker
			var got rollout.Node
			for _, a := range tt.observed {
				is := o{Name: "n", Affected: true, AtGoal: true, Applied: true, Digest: "goal", Revision: "new", Since: noon}
				a.sees(&is)
				got = tracker.Observe(is, policy(1, 1, 0), noon.Add(time.Duration(a.seconds)*time.Second))
				if diff := cmp.Diff(is, got.Observation); diff != "" {
					t.Errorf("the observation has changed (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(tt.want, phase{got.Phase, got.Reason, got.Message, got.Changes}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestALostTrackerOnlySlowsDown(t *testing.T) {
	t.Parallel()

	for name, lose := range map[string]func(*rollout.Tracker){
		"nothing is lost":           func(*rollout.Tracker) {},
		"the node is forgotten":     func(t *rollout.Tracker) { t.Forget("n") },
		"the node is gone":          func(t *rollout.Tracker) { t.Retain(func(string) bool { return false }) },
		"the manager has restarted": func(t *rollout.Tracker) { *t = rollout.Tracker{} },
		"another node is gone":      func(t *rollout.Tracker) { t.Retain(func(node string) bool { return node == "n" }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tracker rollout.Tracker
			o := rollout.Observation{Name: "n", Affected: true, AtGoal: true, Applied: true, Since: noon}
			tracker.Observe(o, policy(1, 1, 0), noon)
			lose(&tracker)
			want := rollout.Soaking
			if name == "nothing is lost" || name == "another node is gone" {
				want = rollout.Proven
			}
			if got := tracker.Observe(o, policy(1, 1, 0), noon.Add(time.Hour)); got.Phase != want {
				t.Errorf("the node is %s", got.Phase)
			}
		})
	}
}
