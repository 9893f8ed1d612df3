package drift_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/drift"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// start is when every one of these stories begins.
var start = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// A story is a host over time: what happens when, and when runs take place. Runs take
// no time.
type story struct {
	pace   drift.Pace
	now    time.Duration
	covers func(path string) bool // by asides
}

func (s *story) at(d time.Duration) time.Time { return start.Add(d) }

// due is when the next run is, since the start; -1 for none.
func (s *story) due() time.Duration {
	if s.pace.Due().IsZero() {
		return -1
	}
	return s.pace.Due().Sub(start)
}

// run is a run as soon as it is due, in which these paths change, by its own doing.
func (s *story) run(corrects ...string) time.Duration {
	s.now = s.due()
	s.pace.Begin(s.at(s.now))
	s.pace.End(s.at(s.now), corrects, corrects)
	return s.now
}

func TestChangesAreDebounced(t *testing.T) {
	s := &story{pace: drift.Pace{Most: time.Hour}}
	if s.due() != -1 {
		t.Error("a run is due although nothing happened")
	}
	s.pace.Saw(s.at(0), "/a")
	if s.due() != 250*ms {
		t.Errorf("due at %s", s.due())
	}
	s.pace.Saw(s.at(200*ms), "/a")
	if s.due() != 450*ms {
		t.Errorf("it goes on, and the run is due at %s", s.due())
	}
	for at := 400 * ms; at < 5*sec; at += 200 * ms {
		s.pace.Saw(s.at(at), "/a")
	}
	if s.due() != 2*sec {
		t.Errorf("it never ends, and the run is due at %s", s.due())
	}
}

func TestChangesDuringARunAreCheckedOnce(t *testing.T) {
	s := &story{pace: drift.Pace{Most: time.Hour}}
	s.pace.Saw(s.at(0), "/a")
	if got := []time.Duration{s.run("/a"), s.run(), s.due()}; !cmp.Equal(got, []time.Duration{250 * ms, 1250 * ms, -1}) {
		t.Error(got)
	}
}

// Another tool reverts each correction of a file at once.
func TestAConflictBacksOffExponentially(t *testing.T) {
	s := &story{pace: drift.Pace{Most: 20 * sec}}
	s.pace.Saw(s.at(0), "/a")
	var runs []time.Duration
	for range 8 {
		runs = append(runs, s.run("/a"))
	}
	want := []time.Duration{250 * ms, 1250 * ms, 3250 * ms, 7250 * ms, 15250 * ms, 31250 * ms, 51250 * ms, 71250 * ms}
	if diff := cmp.Diff(want, runs); diff != "" {
		t.Error(diff)
	}
	s.pace.Saw(s.at(s.now+100*ms), "/b")
	if s.due() != s.now+350*ms {
		t.Errorf("another path waits for it until %s", s.due())
	}
}

// Someone writes a file now and then without changing its managed properties.
func TestBusyFileDoesNotKeepTheHostBusy(t *testing.T) {
	s := &story{pace: drift.Pace{Most: time.Hour}}
	var runs []time.Duration
	for at := time.Duration(0); at < 60*sec; at += 500 * ms {
		s.pace.Saw(s.at(at), "/log")
		for s.due() >= 0 && s.due() < at+500*ms {
			runs = append(runs, s.run())
		}
	}
	want := []time.Duration{250 * ms, 1250 * ms, 3250 * ms, 7250 * ms, 15250 * ms, 31250 * ms}
	if diff := cmp.Diff(want, runs); diff != "" {
		t.Error(diff)
	}
}

func TestBackoffResetsAfterQuietPeriod(t *testing.T) {
	s := &story{pace: drift.Pace{Most: time.Hour}}
	s.pace.Saw(s.at(0), "/a")
	for range 4 {
		s.run("/a") // the last of them at 7.25 s, the next not before 15.25 s
	}
	s.run()
	s.pace.Saw(s.at(16*sec), "/a")
	if s.due() != 16*sec+250*ms {
		t.Errorf("not long after, it is due at %s", s.due())
	}
	s.run("/a")
	s.run()
	s.pace.Saw(s.at(20*sec), "/a")
	if s.due() != 32*sec+250*ms {
		t.Errorf("soon again, it is due at %s", s.due())
	}
	s.run("/a")
	s.run()
	s.pace.Saw(s.at(200*sec), "/a")
	if s.due() != 200*sec+250*ms {
		t.Errorf("much later, it is due at %s", s.due())
	}
}

func TestAnyRunHandlesPendingChanges(t *testing.T) {
	s := &story{pace: drift.Pace{Most: time.Hour}}
	s.pace.Saw(s.at(0), "/a", "/b")
	s.pace.Begin(s.at(100 * ms))
	if s.due() != -1 {
		t.Errorf("a run of the interval leaves a run due at %s", s.due())
	}
	s.pace.End(s.at(200*ms), []string{"/b"}, []string{"/a"})
	if s.due() != 450*ms {
		t.Errorf("what others change during a run is due at %s", s.due())
	}
}

// During a run, changes of some paths are handled aside: once, and again by the next run, which sees all resources.
func TestChangesHandledAsideAreCheckedByTheNextRun(t *testing.T) {
	s := &story{pace: drift.Pace{Most: time.Hour}}
	only := func(path string) bool { return path == "/a" }
	aside := func(want time.Duration, changes ...string) {
		t.Helper()
		due := s.pace.DueAside(only)
		if due.IsZero() || due.Sub(start) != want {
			t.Fatalf("due at %s, want %s", due.Sub(start), want)
		}
		if diff := cmp.Diff([]string{"/a"}, s.pace.BeginAside(due, only, none)); diff != "" {
			t.Error(diff)
		}
		if !s.pace.DueAside(only).IsZero() {
			t.Error("what was handled is due")
		}
		s.pace.EndAside(due, changes, changes)
	}
	s.pace.Begin(s.at(0))
	s.pace.Saw(s.at(0), "/a", "/b")
	aside(200*ms, "/a")
	aside(1200 * ms) // what it changed itself
	s.pace.Saw(s.at(2*sec), "/a")
	aside(2200*ms, "/a")
	s.pace.Saw(s.at(2300*ms), "/a") // another tool reverts it
	aside(4200*ms, "/a")
	s.pace.End(s.at(5*sec), nil, nil)
	if s.due() != 250*ms {
		t.Errorf("after the run, /b is due at %s", s.due())
	}
	s.now = 6 * sec
	s.pace.Begin(s.at(s.now))
	s.pace.End(s.at(s.now), nil, nil)
	s.pace.Saw(s.at(s.now), "/a")
	if s.due() != 8200*ms {
		t.Errorf("once more, /a is due at %s", s.due())
	}
}

// aside is an aside as soon as it is due, in which these paths change, by its own doing. It takes no time.
func (s *story) aside(corrects ...string) time.Duration {
	due := s.pace.DueAside(all)
	if due.IsZero() {
		return -1
	}
	s.now = due.Sub(start)
	s.pace.BeginAside(due, all, s.covers)
	s.pace.EndAside(due, corrects, corrects)
	return s.now
}

func all(string) bool { return true }

func none(string) bool { return false }

func prompt() *story { return &story{pace: drift.Pace{Most: time.Hour, Prompt: all}, covers: none} }

func TestFirstChangeOfAPromptPathIsHandledAtOnce(t *testing.T) {
	s := prompt()
	s.pace.Saw(s.at(0), "/a")
	got := []time.Duration{s.aside("/a"), s.aside(), s.run(), s.due()}
	if diff := cmp.Diff([]time.Duration{0, sec, sec, -1}, got); diff != "" {
		t.Errorf("an aside corrects it and checks that, and a run checks everything (-want +got):\n%s", diff)
	}
	s.pace.Saw(s.at(5*sec), "/a")
	got = []time.Duration{s.aside(), s.run(), s.due()}
	if diff := cmp.Diff([]time.Duration{5 * sec, 5*sec + 250*ms, -1}, got); diff != "" {
		t.Errorf("again, without drift (-want +got):\n%s", diff)
	}
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
			s.pace.Saw(s.at(0), "/a")
			s.pace.Saw(s.at(0), "/b")
			s.pace.Begun([]string{"/a"}, map[string]bool{"/a": true})
			if got := s.pace.BeginAside(s.at(0), all, none); !slices.Equal(got, []string{"/b"}) {
				t.Errorf("at once: %v", got)
			}
			s.pace.EndAside(s.at(0), nil, nil)
			if c.closed >= 0 {
				s.pace.Saw(s.at(c.closed), "/a")
				s.pace.Begun([]string{"/a"}, nil)
			}
			if got := max(s.pace.DueAside(all).Sub(start), c.closed); got != c.want {
				t.Errorf("it is handled at %s, want %s", got, c.want)
			}
			if got := s.pace.BeginAside(s.at(c.want), all, none); !slices.Equal(got, []string{"/a"}) {
				t.Errorf("then: %v", got)
			}
		})
	}
}

// Another tool reverts each correction of an aside at once.
func TestAConflictBacksOffAsides(t *testing.T) {
	s := prompt()
	s.pace.Saw(s.at(0), "/a")
	var asides []time.Duration
	for range 6 {
		asides = append(asides, s.aside("/a"))
		s.pace.Saw(s.at(s.now+ms), "/a")
	}
	if diff := cmp.Diff([]time.Duration{0, sec, 3 * sec, 7 * sec, 15 * sec, 31 * sec}, asides); diff != "" {
		t.Error(diff)
	}
	s.pace.Saw(s.at(s.now+2*ms), "/b")
	if due := s.pace.DueAside(func(path string) bool { return path == "/b" }); due.Sub(start) != s.now+2*ms {
		t.Errorf("another path waits for it until %s", due.Sub(start))
	}
}

// An archive with a thousand managed files is unpacked for a minute.
func TestAsidesTakeAtMostHalfOfTheTime(t *testing.T) {
	s := prompt()
	s.pace.BeginAside(s.at(0), all, none)
	s.pace.EndAside(s.at(30*ms), []string{"/b"}, nil)
	if due := s.pace.DueAside(all); due.Sub(start) != 60*ms {
		t.Errorf("the next one is due at %s", due.Sub(start))
	}
}

func TestChangeDuringAnAsideIsNotLost(t *testing.T) {
	s := prompt()
	s.pace.Saw(s.at(0), "/a")
	s.pace.BeginAside(s.at(0), all, none)
	s.pace.EndAside(s.at(0), []string{"/a", "/b"}, []string{"/a"})
	if got := []time.Duration{s.aside(), s.run(), s.due()}; !cmp.Equal(got, []time.Duration{0, 250 * ms, -1}) {
		t.Errorf("what others change meanwhile, and the aside's own change: %s", got)
	}
}

func TestOwnChangesSeenDuringARunAreCheckedOnce(t *testing.T) {
	s := prompt()
	s.pace.Begin(s.at(0))
	s.pace.Saw(s.at(0), "/a")
	s.pace.End(s.at(10*ms), nil, []string{"/a"})
	if got := []time.Duration{s.due(), s.run(), s.due()}; !cmp.Equal(got, []time.Duration{1010 * ms, 1010 * ms, -1}) {
		t.Error(got)
	}
	s.pace.Saw(s.at(1100*ms), "/a")
	if got := s.aside(); got != 1100*ms {
		t.Errorf("drift after them is corrected at %s", got)
	}
}

// Changes of paths that asides cover, while something else changes now and then.
func TestRunChecksEverythingLongAfterAsidesThatSuffice(t *testing.T) {
	s := prompt()
	s.covers = func(path string) bool { return path != "/both" }
	s.pace.Saw(s.at(0), "/a")
	if got := []time.Duration{s.aside("/a"), s.due(), s.aside(), s.due()}; !cmp.Equal(got, []time.Duration{0, 10 * sec, sec, 10 * sec}) {
		t.Errorf("the correction, and its check: %s", got)
	}
	for at := 3 * sec; at < 9*sec; at += 2 * sec {
		path := at.String()
		s.pace.Saw(s.at(at), path)
		if got := []time.Duration{s.aside(path), s.due(), s.aside(), s.due()}; !cmp.Equal(got, []time.Duration{at, 10 * sec, at + sec, 10 * sec}) {
			t.Errorf("a change at %s: %s", at, got)
		}
	}
	if got := []time.Duration{s.run(), s.due()}; !cmp.Equal(got, []time.Duration{10 * sec, -1}) {
		t.Errorf("the run: %s", got)
	}

	s.pace.Saw(s.at(60*sec), "/b", "/both")
	if got := []time.Duration{s.aside("/b"), s.due(), s.run(), s.due()}; !cmp.Equal(got, []time.Duration{60 * sec, 60*sec + 250*ms, 60*sec + 250*ms, -1}) {
		t.Errorf("a path that other resources have, too: %s", got)
	}

	s.pace.Saw(s.at(120*sec), "/c")
	s.aside("/c")
	s.pace.CheckNow(s.at(121 * sec))
	if got := []time.Duration{s.run(), s.due()}; !cmp.Equal(got, []time.Duration{121 * sec, -1}) {
		t.Errorf("an aside that failed: %s", got)
	}
}

// Another tool changes a path between its correction and the check of that, unnoticed.
func TestDriftFoundByTheCheckOfAnAsideCounts(t *testing.T) {
	s := prompt()
	s.covers = all
	s.pace.Saw(s.at(0), "/a")
	var asides []time.Duration
	for range 4 {
		asides = append(asides, s.aside("/a"))
	}
	if diff := cmp.Diff([]time.Duration{0, sec, 3 * sec, 7 * sec}, asides); diff != "" {
		t.Error(diff)
	}
}
