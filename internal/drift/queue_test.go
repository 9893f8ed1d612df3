package drift_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/drift"
	"github.com/fettle-dev/fettle/internal/resource"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// start is when every one of these stories begins.
var start = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// A story is a host over time: what happens when, and when runs and corrections take place. These take
// no time.
type story struct {
	queue drift.Queue
	now   time.Duration
	// duringRun means that a run of everything is in progress while resources are corrected.
	duringRun bool
}

func slow() *story { return &story{queue: drift.Queue{MaxBackoff: time.Hour}} }

// prompt is a story of resources that others change in one step.
func prompt() *story { return &story{queue: drift.Queue{MaxBackoff: time.Hour, AtomicWrites: all}} }

func all(resource.Ref) bool { return true }

func only(name string) func(resource.Ref) bool {
	return func(ref resource.Ref) bool { return ref.Name == name }
}

func refs(names ...string) []resource.Ref {
	var out []resource.Ref
	for _, name := range names {
		out = append(out, resource.Ref{Kind: "File", Name: name})
	}
	return out
}

func at(d time.Duration) time.Time { return start.Add(d) }

// since is a time since the start; -1 for none.
func since(due time.Time) time.Duration {
	if due.IsZero() {
		return -1
	}
	return due.Sub(start)
}

func (s *story) add(d time.Duration, names ...string) { s.queue.Add(at(d), refs(names...)...) }

// due is when the next run is.
func (s *story) due() time.Duration { return since(s.queue.RunDue()) }

// run is a run as soon as it is due, which changes these resources.
func (s *story) run(corrects ...string) time.Duration {
	s.now = s.due()
	s.queue.BeginRun(at(s.now))
	s.queue.EndRun(at(s.now), nil, refs(corrects...))
	return s.now
}

// correct is a correction as soon as it is due, which changes these resources.
func (s *story) correct(corrects ...string) time.Duration {
	due := s.queue.CorrectionDue(all)
	if due.IsZero() {
		return -1
	}
	s.now = due.Sub(start)
	s.queue.BeginCorrection(due, all, s.duringRun)
	s.queue.EndCorrection(due, nil, refs(corrects...), s.duringRun)
	return s.now
}

func times(t *testing.T, what string, want, got []time.Duration) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func names(refs []resource.Ref) string {
	var out []string
	for _, ref := range refs {
		out = append(out, ref.Name)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestChangesAreDebounced(t *testing.T) {
	s := slow()
	if s.due() != -1 {
		t.Error("a run is due although nothing happened")
	}
	s.add(0, "a")
	if s.due() != 250*ms {
		t.Errorf("due at %s", s.due())
	}
	s.add(200*ms, "a")
	if s.due() != 450*ms {
		t.Errorf("it goes on, and the run is due at %s", s.due())
	}
	for d := 400 * ms; d < 5*sec; d += 200 * ms {
		s.add(d, "a")
	}
	if s.due() != 2*sec {
		t.Errorf("it never ends, and the run is due at %s", s.due())
	}
}

func TestOwnChangesAreCheckedOnce(t *testing.T) {
	s := slow()
	s.add(0, "a")
	times(t, "runs", []time.Duration{250 * ms, 1250 * ms, -1}, []time.Duration{s.run("a"), s.run(), s.due()})

	s = prompt()
	s.queue.BeginRun(at(0))
	s.add(0, "a") // seen during the run
	s.queue.EndRun(at(10*ms), nil, refs("a"))
	times(t, "runs", []time.Duration{1010 * ms, 1010 * ms, -1}, []time.Duration{s.due(), s.run(), s.due()})
	s.add(1100*ms, "a")
	if got := s.correct(); got != 1100*ms {
		t.Errorf("drift after them is corrected at %s", got)
	}
}

// Another tool reverts each correction of a file at once.
func TestAConflictBacksOffExponentially(t *testing.T) {
	s := &story{queue: drift.Queue{MaxBackoff: 20 * sec}}
	s.add(0, "a")
	var runs []time.Duration
	for range 8 {
		runs = append(runs, s.run("a"))
	}
	times(t, "runs", []time.Duration{250 * ms, 1250 * ms, 3250 * ms, 7250 * ms, 15250 * ms, 31250 * ms, 51250 * ms, 71250 * ms}, runs)
	s.add(s.now+100*ms, "b")
	if s.due() != s.now+350*ms {
		t.Errorf("another resource waits for it until %s", s.due())
	}

	s = prompt()
	s.add(0, "a")
	var corrections []time.Duration
	for range 6 {
		corrections = append(corrections, s.correct("a"))
		s.add(s.now+ms, "a")
	}
	times(t, "corrections", []time.Duration{0, sec, 3 * sec, 7 * sec, 15 * sec, 31 * sec}, corrections)
	s.add(s.now+2*ms, "b")
	if due := since(s.queue.CorrectionDue(only("b"))); due != s.now+2*ms {
		t.Errorf("another resource waits for it until %s", due)
	}
}

// Someone writes a file now and then without changing its managed properties.
func TestBusyFileDoesNotKeepTheHostBusy(t *testing.T) {
	s := slow()
	var runs []time.Duration
	for d := time.Duration(0); d < 60*sec; d += 500 * ms {
		s.add(d, "log")
		for s.due() >= 0 && s.due() < d+500*ms {
			runs = append(runs, s.run())
		}
	}
	times(t, "runs", []time.Duration{250 * ms, 1250 * ms, 3250 * ms, 7250 * ms, 15250 * ms, 31250 * ms}, runs)
}

func TestBackoffResetsAfterAQuietTime(t *testing.T) {
	s := slow()
	s.add(0, "a")
	for range 4 {
		s.run("a") // the last of them at 7.25 s, the next not before 15.25 s
	}
	s.run()
	s.add(16*sec, "a")
	if s.due() != 16*sec+250*ms {
		t.Errorf("not long after, it is due at %s", s.due())
	}
	s.run("a")
	s.run()
	s.add(20*sec, "a")
	if s.due() != 32*sec+250*ms {
		t.Errorf("soon again, it is due at %s", s.due())
	}
	s.run("a")
	s.run()
	s.add(200*sec, "a")
	if s.due() != 200*sec+250*ms {
		t.Errorf("much later, it is due at %s", s.due())
	}
}

func TestAnyRunHandlesWhatIsWaiting(t *testing.T) {
	s := slow()
	s.add(0, "a", "b")
	if got := names(s.queue.BeginRun(at(100 * ms))); got != "a b" {
		t.Errorf("a run of the interval handles %s", got)
	}
	if s.due() != -1 {
		t.Errorf("it leaves a run due at %s", s.due())
	}
	s.queue.EndRun(at(200*ms), refs("b"), refs("a"))
	if s.due() != 450*ms {
		t.Errorf("what others change during a run is due at %s", s.due())
	}
	s.queue.Forget()
	if s.due() != -1 {
		t.Error("what was to be forgotten is due")
	}
}

// During a run, changes of some resources are corrected once, and checked again by the next run, which sees all resources.
func TestChangesCorrectedDuringARunAreCheckedByTheNextOne(t *testing.T) {
	s := slow()
	a := only("a")
	correct := func(want time.Duration, changes ...string) {
		t.Helper()
		due := s.queue.CorrectionDue(a)
		if since(due) != want {
			t.Fatalf("due at %s, want %s", since(due), want)
		}
		if got := names(s.queue.BeginCorrection(due, a, true)); got != "a" {
			t.Errorf("corrects %s", got)
		}
		if !s.queue.CorrectionDue(a).IsZero() {
			t.Error("what was handled is due")
		}
		s.queue.EndCorrection(due, nil, refs(changes...), true)
	}
	s.queue.BeginRun(at(0))
	s.add(0, "a", "b")
	correct(200*ms, "a")
	correct(1200 * ms) // what it changed itself
	s.add(2*sec, "a")
	correct(2200*ms, "a")
	s.add(2300*ms, "a") // another tool reverts it
	correct(4200*ms, "a")
	s.queue.EndRun(at(5*sec), nil, nil)
	if s.due() != 250*ms {
		t.Errorf("after the run, b is due at %s", s.due())
	}
	s.now = 6 * sec
	s.queue.BeginRun(at(s.now))
	s.queue.EndRun(at(s.now), nil, nil)
	s.add(s.now, "a")
	if s.due() != 8200*ms {
		t.Errorf("once more, a is due at %s", s.due())
	}
}

func TestFirstChangeInOneStepIsCorrectedAtOnce(t *testing.T) {
	s := prompt()
	s.duringRun = true
	s.add(0, "a")
	times(t, "a correction, its check, and a run of everything", []time.Duration{0, sec, 250 * ms, -1},
		[]time.Duration{s.correct("a"), s.correct(), s.run(), s.due()})
	s.add(5*sec, "a")
	times(t, "again, without drift", []time.Duration{5 * sec, 5*sec + 250*ms, -1}, []time.Duration{s.correct(), s.run(), s.due()})
}

// The file is handled once it is closed, or once nothing has happened to it for a while.
func TestCreatedFileIsNotHandledWhileItIsWritten(t *testing.T) {
	for name, c := range map[string]struct {
		closed, want time.Duration
	}{
		"one that is closed soon": {50 * ms, 50 * ms},
		"one that stays open":     {-1, 200 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := prompt()
			s.add(0, "a", "b")
			s.queue.SetUnfinished(refs("a"), all)
			if got := names(s.queue.BeginCorrection(at(0), all, false)); got != "b" {
				t.Errorf("at once: %s", got)
			}
			s.queue.EndCorrection(at(0), nil, nil, false)
			if c.closed >= 0 {
				s.add(c.closed, "a")
				s.queue.SetUnfinished(refs("a"), only("none"))
			}
			if got := max(since(s.queue.CorrectionDue(all)), c.closed); got != c.want {
				t.Errorf("it is handled at %s, want %s", got, c.want)
			}
			if got := names(s.queue.BeginCorrection(at(c.want), all, false)); got != "a" {
				t.Errorf("then: %s", got)
			}
		})
	}
}

// An archive with a thousand managed files is unpacked for a minute.
func TestCorrectionsTakeAtMostHalfOfTheTime(t *testing.T) {
	s := prompt()
	s.queue.BeginCorrection(at(0), all, false)
	s.queue.EndCorrection(at(30*ms), refs("b"), nil, false)
	if due := since(s.queue.CorrectionDue(all)); due != 60*ms {
		t.Errorf("the next one is due at %s", due)
	}
}

func TestChangeDuringACorrectionIsNotLost(t *testing.T) {
	s := prompt()
	s.add(0, "a")
	s.queue.BeginCorrection(at(0), all, false)
	s.queue.EndCorrection(at(0), refs("b"), refs("a"), false)
	times(t, "what others change meanwhile, the own change, and a run", []time.Duration{0, 10 * sec, -1}, []time.Duration{s.correct(), s.run(), s.due()})
}

// Resources that a correction handles alone, while something else changes now and then.
func TestRunChecksEverythingLongAfterCorrections(t *testing.T) {
	s := prompt()
	s.add(0, "a")
	times(t, "the correction, and its check", []time.Duration{0, 10 * sec, sec, 10 * sec}, []time.Duration{s.correct("a"), s.due(), s.correct(), s.due()})
	for d := 3 * sec; d < 9*sec; d += 2 * sec {
		name := d.String()
		s.add(d, name)
		times(t, "a change at "+name, []time.Duration{d, 10 * sec, d + sec, 10 * sec}, []time.Duration{s.correct(name), s.due(), s.correct(), s.due()})
	}
	times(t, "the run", []time.Duration{10 * sec, -1}, []time.Duration{s.run(), s.due()})

	s.add(60*sec, "b", "run")
	s.queue.BeginCorrection(at(60*sec), only("b"), false)
	s.queue.EndCorrection(at(60*sec), nil, refs("b"), false)
	times(t, "with one that only a run handles", []time.Duration{60*sec + 250*ms, 60*sec + 250*ms, -1}, []time.Duration{s.due(), s.run(), s.due()})

	s.add(120*sec, "c")
	s.correct("c")
	s.queue.RunNow(at(121 * sec))
	times(t, "a correction that failed", []time.Duration{121 * sec, -1}, []time.Duration{s.run(), s.due()})
}

// Another tool changes a resource between its correction and the check of that, unnoticed.
func TestDriftFoundByACheckCounts(t *testing.T) {
	s := prompt()
	s.add(0, "a")
	var corrections []time.Duration
	for range 4 {
		corrections = append(corrections, s.correct("a"))
	}
	times(t, "corrections", []time.Duration{0, sec, 3 * sec, 7 * sec}, corrections)
}

func TestThreeCorrectionsWithoutAQuietTimeAreAContest(t *testing.T) {
	s := prompt()
	contended := func(d time.Duration) string { return names(slices.Collect(maps.Keys(s.queue.Contended(at(d))))) }
	for i := range 3 {
		if got := contended(s.now); got != "" {
			t.Errorf("after %d corrections: %s", i, got)
		}
		s.add(s.now, "a")
		s.correct("a")
		s.queue.Corrected(at(s.now), refs("a")...)
	}
	if got := contended(s.now); got != "a" {
		t.Errorf("contended: %q", got)
	}
	if got := contended(s.now + 5*time.Minute); got != "" {
		t.Errorf("after a quiet time: %s", got)
	}
	s.queue.Corrected(at(s.now+5*time.Minute), refs("a")...)
	if got := contended(s.now + 5*time.Minute); got != "" {
		t.Errorf("after one more: %s", got)
	}
}
