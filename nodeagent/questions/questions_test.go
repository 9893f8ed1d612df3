package questions_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/nodeagent/questions"
)

// A manager asks, and records answers with the time since the start.
type manager struct {
	mu      sync.Mutex
	start   time.Time
	watches []time.Duration
	answers []string
	asks    *watch.FakeWatcher // nil: there is no API
}

// run runs a receiver for a time.
func (m *manager) run(t *testing.T, d time.Duration, difference func(context.Context) (report.Report, error)) {
	t.Helper()
	m.start = time.Now()
	r := &questions.Receiver{
		Watch: func(context.Context) (watch.Interface, error) {
			m.watches = append(m.watches, time.Since(m.start).Round(time.Second))
			if m.asks == nil {
				return nil, errors.New("not found")
			}
			return m.asks, nil
		},
		Answer: func(_ context.Context, a *reports.NodeAnswer) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			text := a.Name + " after " + time.Since(m.start).Round(time.Second).String() + ": " + a.Problem
			for _, r := range a.Reports {
				text += string(r.Report.Raw)
			}
			m.answers = append(m.answers, text)
			return nil
		},
		Difference: difference, Plan: func(ctx context.Context, p *reports.Proposal) (report.Report, error) {
			return report.Report{Host: p.Digest}, nil
		},
		Reports: func() ([]questions.Stored, error) {
			return []questions.Stored{{Number: 1, Report: []byte(`"a"`)}, {Number: 2, Report: []byte(`"b"`)}}, nil
		},
		Clock: clock.RealClock{}, Random: func() float64 { return 0.5 }, Log: slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	r.Run(ctx)
}

func (m *manager) ask(name string, topic reports.Topic, seconds int32) {
	q := &reports.NodeQuestion{Topic: topic, Seconds: seconds}
	q.Name = name
	m.asks.Add(q)
}

func TestAPIThatIsMissingIsLookedForLessAndLessOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m manager
		m.run(t, time.Hour, nil)
		if len(m.watches) > 16 {
			t.Errorf("it was looked for %d times in an hour", len(m.watches))
		}
		if last := m.watches[len(m.watches)-1] - m.watches[len(m.watches)-2]; last > 10*time.Minute {
			t.Errorf("it was looked for after %s", last)
		}
	})
}

func TestWatchThatEndsIsOpenedAgainSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := manager{asks: watch.NewFake()}
		m.asks.Stop()
		m.run(t, 5*time.Second, nil)
		if diff := cmp.Diff([]time.Duration{0, 2 * time.Second, 3 * time.Second, 5 * time.Second}, m.watches); diff != "" {
			t.Error(diff)
		}
	})
}

func TestEachQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := manager{asks: watch.NewFake()}
		go func() {
			m.ask("1-reports", reports.TopicReports, 10)
			synctest.Wait()
			m.ask("2-unknown", "Future", 10)
			synctest.Wait()
			m.ask("3-difference", reports.TopicDifference, 10)
		}()
		m.run(t, time.Minute, func(context.Context) (report.Report, error) {
			return report.Report{}, errors.New("no run has taken place\x1b[2J")
		})
		want := []string{
			`1-reports after 0s: "a""b"`,
			`2-unknown after 0s: the question "Future" is unknown: the agent is older than the manager`,
			`3-difference after 0s: no run has taken place` + "\x1b[2J",
		}
		if diff := cmp.Diff(want, m.answers); diff != "" {
			t.Error(diff)
		}
	})
}

// Ten seconds are computed at once, and then nothing for forty. Questions that nobody waits for any more are not computed.
func TestDifferencesLeaveTheAgentTimeForItsWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := manager{asks: watch.NewFake()}
		go func() {
			m.ask("1", reports.TopicDifference, 15)
			time.Sleep(time.Second) //nolint:forbidigo // of the bubble
			m.ask("2", reports.TopicDifference, 15)
			m.ask("3", reports.TopicDifference, 60)
		}()
		computed, atOnce := 0, 0
		m.run(t, 2*time.Minute, func(context.Context) (report.Report, error) {
			computed++
			if atOnce++; atOnce > 1 {
				t.Error("two are computed at once")
			}
			time.Sleep(10 * time.Second) //nolint:forbidigo // of the bubble
			atOnce--
			return report.Report{Kind: "Report"}, nil
		})
		var got []string
		for _, a := range m.answers {
			name, _, _ := strings.Cut(a, ":")
			got = append(got, name)
		}
		if diff := cmp.Diff([]string{"1 after 10s", "3 after 1m0s"}, got); diff != "" || computed != 2 {
			t.Errorf("%d are computed: %s", computed, diff)
		}
	})
}

func TestAnswerThatIsTooLargeLosesItsOldestReports(t *testing.T) {
	t.Parallel()
	of := func(sizes ...int) *reports.NodeAnswer {
		a := &reports.NodeAnswer{}
		for i, size := range sizes {
			r := reports.NumberedReport{Number: int64(i)}
			r.Report.Raw = make([]byte, size)
			a.Reports = append(a.Reports, r)
		}
		return a
	}
	for _, c := range []struct {
		answer  *reports.NodeAnswer
		err     error
		numbers []int64
		problem string
	}{
		{answer: of(1, 2, 3), numbers: []int64{0, 1, 2}},
		{answer: of(500<<10, 500<<10, 400<<10), numbers: []int64{1, 2}},
		{answer: of(1, 2<<20), problem: "the report is larger than 1 MiB: run fettle plan on the host"},
		{answer: of(1), err: errors.New(strings.Repeat("x", 2000)), problem: strings.Repeat("x", 997) + "..."},
		{answer: of()},
	} {
		got := questions.Fit(c.answer, c.err)
		var numbers []int64
		for _, r := range got.Reports {
			numbers = append(numbers, r.Number)
		}
		if diff := cmp.Diff(c.numbers, numbers); diff != "" || got.Problem != c.problem {
			t.Errorf("problem %.100q, numbers %s", got.Problem, diff)
		}
	}
}
