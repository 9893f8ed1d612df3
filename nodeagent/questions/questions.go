// Package questions answers what the manager asks the agent of a node: for reports, for the difference of the host from its
// catalog, and for what a change of the catalog would do.
//
// Nothing depends on it. Without the API it is looked for less and less often, and answers come between runs.
package questions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/text"
)

// Limits of a Receiver.
const (
	// firstWait and lastWait are the times before the first and the last retries of a watch. The first one is varied, because
	// all watches of a fleet end at the same time.
	firstWait = 2 * time.Second
	lastWait  = 10 * time.Minute
	// maxAtOnce is the number of questions that are handled at the same time. More are not answered.
	maxAtOnce = 8
	// rest is how long no run is simulated after one was, as a multiple of the time that it took.
	rest = 4
	// maxSeconds limits how long a question may ask to wait.
	maxSeconds = 60
)

// A Stored report is JSON of a run's report, and its number.
type Stored struct {
	Number int64
	Report []byte
}

// A Receiver answers questions. All fields are required.
type Receiver struct {
	Watch  func(ctx context.Context) (watch.Interface, error)
	Answer func(ctx context.Context, answer *reports.NodeAnswer) error
	// Difference returns the report of a run that changes nothing. It is not called concurrently.
	Difference func(ctx context.Context) (report.Report, error)
	// Plan returns what a change of the node's catalog would do, without changing anything. Neither is it called concurrently, also
	// not with Difference.
	Plan func(ctx context.Context, change *reports.Proposal) (report.Report, error)
	// Reports returns the stored reports, the latest last.
	Reports func() ([]Stored, error)
	Clock   clock.Clock
	Random  func() float64 // [0, 1)
	Log     *slog.Logger

	simulating chan struct{} // of capacity one
	restUntil  time.Time     // of simulations; for who has filled simulating
	handling   chan struct{} // of capacity maxAtOnce
}

// Run answers questions until ctx ends.
func (r *Receiver) Run(ctx context.Context) {
	r.simulating, r.handling = make(chan struct{}, 1), make(chan struct{}, maxAtOnce)
	var background sync.WaitGroup
	defer background.Wait()
	for failures := 0; ctx.Err() == nil; {
		if r.receive(ctx, &background) {
			failures = 0
		}
		_ = r.sleepUntil(ctx, r.Clock.Now().Add(Backoff(failures, r.Random()))) // it ends early only with ctx
		failures++
	}
}

// Backoff returns the time to wait after a number of failures in a row, for a random number in [0, 1).
func Backoff(failures int, random float64) time.Duration {
	wait := min(firstWait<<min(failures, 20), lastWait)
	return wait/2 + time.Duration(random*float64(wait/2))
}

// receive answers the questions of one watch, and reports whether there was a watch.
func (r *Receiver) receive(ctx context.Context, background *sync.WaitGroup) bool {
	questions, err := r.Watch(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.Log.Debug("questions of the manager are not received", "error", err)
		}
		return false
	}
	defer questions.Stop()
	for {
		select {
		case <-ctx.Done():
			return true
		case event, ok := <-questions.ResultChan():
			if !ok {
				return true
			}
			if q, is := event.Object.(*reports.NodeQuestion); is && event.Type == watch.Added {
				r.start(ctx, background, q)
			}
		}
	}
}

// start handles a question in the background, unless too many are.
func (r *Receiver) start(ctx context.Context, background *sync.WaitGroup, q *reports.NodeQuestion) {
	select {
	case r.handling <- struct{}{}:
	default:
		return
	}
	background.Go(func() {
		defer func() { <-r.handling }()
		r.handle(ctx, q)
	})
}

// handle answers a question, unless the time for it is over.
func (r *Receiver) handle(ctx context.Context, q *reports.NodeQuestion) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(min(max(q.Seconds, 1), maxSeconds))*time.Second)
	defer cancel()
	answer := &reports.NodeAnswer{}
	var err error
	switch q.Topic {
	case reports.TopicReports:
		answer.Reports, err = r.stored()
	case reports.TopicDifference:
		answer.Reports, err = r.simulate(ctx, r.Difference)
	case reports.TopicPlan:
		answer.Reports, err = r.simulate(ctx, func(ctx context.Context) (report.Report, error) { return r.Plan(ctx, q.Proposal) })
	default:
		err = fmt.Errorf("the question %q is unknown: the agent is older than the manager", q.Topic)
	}
	if ctx.Err() != nil {
		return // nobody waits
	}
	answer = Fit(answer, err)
	answer.Name = q.Name
	if err := r.Answer(ctx, answer); err != nil {
		r.Log.Debug("a question of the manager is not answered", "topic", q.Topic, "error", err)
	}
}

func (r *Receiver) stored() ([]reports.NumberedReport, error) {
	all, err := r.Reports()
	if err != nil {
		return nil, fmt.Errorf("cannot read the reports: %w", err)
	}
	answer := make([]reports.NumberedReport, len(all))
	for i, s := range all {
		answer[i].Number, answer[i].Report.Raw = s.Number, s.Report
	}
	return answer, nil
}

// simulate makes runs that change nothing, one at a time and with a rest after each: they must not keep the agent from its work.
func (r *Receiver) simulate(ctx context.Context, run func(context.Context) (report.Report, error)) ([]reports.NumberedReport, error) {
	select {
	case r.simulating <- struct{}{}:
		defer func() { <-r.simulating }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := r.sleepUntil(ctx, r.restUntil); err != nil {
		return nil, err
	}
	began := r.Clock.Now()
	result, err := run(ctx)
	now := r.Clock.Now()
	r.restUntil = now.Add(rest * now.Sub(began))
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(changesOnly(result))
	if err != nil {
		return nil, fmt.Errorf("cannot encode the report: %w", err)
	}
	answer := make([]reports.NumberedReport, 1)
	answer[0].Report.Raw = raw
	return answer, nil
}

func (r *Receiver) sleepUntil(ctx context.Context, at time.Time) error {
	wait := at.Sub(r.Clock.Now())
	if wait <= 0 {
		return nil
	}
	timer := r.Clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// changesOnly returns a report without resources in sync.
func changesOnly(r report.Report) report.Report {
	all := r.Resources
	r.Resources = []report.ResourceReport{}
	for _, res := range all {
		if res.State != report.InSync || len(res.Events) > 0 || res.Message != "" {
			r.Resources = append(r.Resources, res)
		}
	}
	return r
}

// Fit returns an answer that is not too large. The oldest reports are omitted; a single one that is too large is a problem.
func Fit(answer *reports.NodeAnswer, err error) *reports.NodeAnswer {
	const room = reports.MaxAnswerBytes - 4<<10 // for the rest
	size := 0
	for i := len(answer.Reports) - 1; i >= 0 && err == nil; i-- {
		if size += len(answer.Reports[i].Report.Raw) + 100; size > room {
			answer.Reports = answer.Reports[i+1:]
			if len(answer.Reports) == 0 {
				err = errors.New("the report is larger than 1 MiB: run fettle plan on the host")
			}
			break
		}
	}
	if err != nil {
		return &reports.NodeAnswer{Problem: text.Clip(text.Encode(text.Error(err)), 1000)}
	}
	return answer
}
