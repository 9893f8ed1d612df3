package questions_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/questions"
)

// ask asks a node in the background.
func ask(ctx context.Context, hub *questions.Hub, node string) <-chan error {
	asked := make(chan error, 1)
	go func() {
		_, err := hub.Ask(ctx, node, v1alpha1.TopicReports)
		asked <- err
	}()
	return asked
}

// next returns the name of the next question of a watch.
func next(t *testing.T, w *questions.Watch) string {
	t.Helper()
	q, ok := (<-w.ResultChan()).Object.(*v1alpha1.NodeQuestion)
	if !ok {
		t.Fatal("the watch has ended")
	}
	return q.Name
}

func named(name string) *v1alpha1.NodeAnswer {
	a := &v1alpha1.NodeAnswer{}
	a.Name = name
	return a
}

func TestWatchBeginsWithOpenQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var hub questions.Hub
		asked := ask(t.Context(), &hub, "web-1")
		synctest.Wait()
		for range 2 { // an agent that connects again
			w := hub.Watch("web-1")
			name := next(t, w)
			w.Stop()
			w.Stop()
			if name != hub.Open("web-1")[0].Name {
				t.Errorf("got question %s", name)
			}
		}
		if err := hub.Answer("web-1", named(hub.Open("web-1")[0].Name)); err != nil {
			t.Error(err)
		}
		if err := <-asked; err != nil || len(hub.Open("web-1")) != 0 {
			t.Errorf("got %v; %d questions are left", err, len(hub.Open("web-1")))
		}
	})
}

func TestAnswerIsAcceptedOnceInTimeAndFromItsNodeOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var hub questions.Hub
		ctx, cancel := context.WithCancel(t.Context())
		w := hub.Watch("web-1")
		asked := ask(ctx, &hub, "web-1")
		name := next(t, w)
		if err := hub.Answer("web-2", named(name)); !errors.Is(err, questions.ErrNoQuestion) {
			t.Errorf("of another node: %v", err)
		}
		cancel()
		if err := <-asked; !errors.Is(err, context.Canceled) {
			t.Errorf("a caller who is gone: %v", err)
		}
		if err := hub.Answer("web-1", named(name)); !errors.Is(err, questions.ErrNoQuestion) {
			t.Errorf("too late: %v", err)
		}

		asked = ask(t.Context(), &hub, "web-1")
		name = next(t, w)
		if err := hub.Answer("web-1", named(name)); err != nil {
			t.Errorf("the first answer: %v", err)
		}
		if err := hub.Answer("web-1", named(name)); !errors.Is(err, questions.ErrNoQuestion) {
			t.Errorf("a second answer: %v", err)
		}
		if err := <-asked; err != nil {
			t.Errorf("the caller got %v", err)
		}
	})
}

func TestSilentNodeIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var hub questions.Hub
		absent := <-ask(t.Context(), &hub, "web-1")
		hub.Watch("web-1")
		busy := <-ask(t.Context(), &hub, "web-1")
		want := []string{
			"the agent of web-1 did not answer within 10s: it is not connected to the manager: it is silent, older than the manager, or connects again within ten minutes",
			"the agent of web-1 did not answer within 10s: it is busy with a run; try again later",
		}
		if diff := cmp.Diff(want, []string{absent.Error(), busy.Error()}); diff != "" {
			t.Error(diff)
		}
	})
}

func TestProblemOfANodeIsOneShortLine(t *testing.T) {
	t.Parallel()
	short := &questions.ProblemError{Node: "web-1", Problem: "no run\n\x1b[2J"}
	if diff := cmp.Diff(`the agent of web-1 answers: no run\n\x1b[2J`, short.Error()); diff != "" {
		t.Error(diff)
	}
	long := &questions.ProblemError{Node: "web-1", Problem: strings.Repeat("x", 1<<20)}
	if len(long.Error()) > 1100 {
		t.Errorf("it has %d bytes", len(long.Error()))
	}
}

func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var hub questions.Hub
		ctx, cancel := context.WithCancel(t.Context())
		var all []<-chan error
		for i := range questions.MaxQuestions {
			all = append(all, ask(ctx, &hub, "web-"+strconv.Itoa(i/questions.MaxNodeQuestions)))
		}
		synctest.Wait()
		for _, node := range []string{"web-0", "web-1000"} {
			if err := <-ask(ctx, &hub, node); !errors.Is(err, questions.ErrTooMany) {
				t.Errorf("%s: %v", node, err)
			}
		}
		cancel()
		for _, asked := range all {
			if err := <-asked; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		w := hub.Watch("web-0")
		asked := ask(t.Context(), &hub, "web-0")
		if err := hub.Answer("web-0", named(next(t, w))); err != nil || <-asked != nil {
			t.Errorf("after they are over: %v", err)
		}
	})
}

func TestWatchThatIsNotReadEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var hub questions.Hub
		var watches []*questions.Watch
		for range questions.MaxNodeWatches + 1 {
			watches = append(watches, hub.Watch("web-1"))
		}
		for range 3 * questions.MaxNodeQuestions {
			ctx, cancel := context.WithCancel(t.Context())
			asked := ask(ctx, &hub, "web-1")
			synctest.Wait()
			cancel()
			if err := <-asked; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		for i, w := range watches {
			n := 0
			for range w.ResultChan() { // it ends
				n++
			}
			if n > 2*questions.MaxNodeQuestions {
				t.Errorf("watch %d has %d questions", i, n)
			}
		}
	})
}

func TestFewAnswersOfANodeAreReceivedAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var hub questions.Hub
		if _, err := hub.Receive("web-1"); !errors.Is(err, questions.ErrNoQuestion) {
			t.Errorf("an answer to no question: %v", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		asked := []<-chan error{ask(ctx, &hub, "web-1"), ask(ctx, &hub, "web-1"), ask(ctx, &hub, "web-2")}
		synctest.Wait()
		first, err := hub.Receive("web-1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = hub.Receive("web-1"); err != nil {
			t.Error(err)
		}
		if _, err = hub.Receive("web-1"); !errors.Is(err, questions.ErrTooMany) {
			t.Errorf("a third answer: %v", err)
		}
		if _, err = hub.Receive("web-2"); err != nil {
			t.Errorf("an answer of another node: %v", err)
		}
		first()
		if _, err = hub.Receive("web-1"); err != nil {
			t.Errorf("after one was received: %v", err)
		}
		stop()
		for _, done := range asked {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("a question ended with %v", err)
			}
		}
	})
}
