package hostrun_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/hostrun"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// sh returns a command that records its execution and then runs a script.
func sh(what string) []string { return []string{"/bin/sh", "-c", what} }

func TestCommandsBeforeAndAfterARun(t *testing.T) {
	root := debian.Root(t)
	const ran = "before run after"
	for name, c := range map[string]struct {
		before, after []string
		readOnly      bool
		fails         error // of the run
		did           string
		status        string
		message       string
		err           string
	}{
		"both succeed": {
			before: sh("echo before >> /did"), after: sh("echo after >> /did"),
			did: ran, status: "changed",
		},
		"none": {did: "run", status: "changed"},
		"what fails before it keeps it from taking place, and what is after it comes all the same": {
			before: sh("echo before >> /did; echo first; echo no disk >&2; exit 3"), after: sh("echo after >> /did"),
			did: "before after", err: "the command before the run failed: /bin/sh exited with 3: no disk",
		},
		"what fails after it makes it fail": {
			after: sh("echo after >> /did; echo some; echo thing; exit 1"),
			did:   "run after", status: "failed", message: "the command after the run failed: /bin/sh exited with 1: thing",
		},
		"what is not there": {
			before: []string{"/no/such"}, after: sh("echo after >> /did"),
			did: "after", err: `the command before the run failed: cannot run "/no/such": cannot find command: stat /no/such: no such file or directory`,
		},
		"a run that fails by itself": {
			after: sh("echo after >> /did"), fails: errors.New("the state is full"),
			did: "run after", status: "changed", err: "the state is full",
		},
		"nothing around a run that only reports": {
			before: sh("echo before >> /did"), after: sh("echo after >> /did"), readOnly: true,
			did: "run", status: "changed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, root)
			o.Before, o.After, o.ReadOnly = c.before, c.after, c.readOnly
			must(t, os.WriteFile(filepath.Join(root, "did"), nil, 0o644))
			result, err := hostrun.Run(t.Context(), o, func(context.Context, engine.Store) (report.Report, error) {
				note(t, root, "run")
				return report.Report{Kind: "Report", Status: "changed"}, c.fails
			})
			text := ""
			if err != nil {
				text = err.Error()
			}
			did, readErr := os.ReadFile(filepath.Join(root, "did"))
			must(t, readErr)
			got := []string{strings.Join(strings.Fields(string(did)), " "), result.Status, result.Message, text}
			if diff := cmp.Diff([]string{c.did, c.status, c.message, c.err}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The report on disk has neither resources in sync nor diffs.
func TestLastReportIsStored(t *testing.T) {
	o := options(t, t.TempDir())
	file := filepath.Join(o.Dir, "last_run_report.json")
	run := func(resources ...report.ResourceReport) report.Report {
		t.Helper()
		result, err := hostrun.Run(t.Context(), o, func(context.Context, engine.Store) (report.Report, error) {
			return report.Report{Kind: "Report", Status: "changed", Resources: resources}, nil
		})
		must(t, err)
		return result
	}
	changed := report.ResourceReport{
		Ref: report.Ref{Kind: "File", Name: "a"}, State: report.Changed, Events: []report.Event{{Message: "content changed", Diff: "+hello"}},
	}
	run()
	if whole := run(changed, report.ResourceReport{Ref: report.Ref{Kind: "File", Name: "b"}, State: report.InSync}); whole.Resources[0].Events[0].Diff == "" {
		t.Error("the run's own report lost its diff")
	}
	text, err := os.ReadFile(file)
	must(t, err)
	var kept report.Report
	must(t, json.Unmarshal(text, &kept))
	changed.Events[0].Diff = ""
	if diff := cmp.Diff([]report.ResourceReport{changed}, kept.Resources); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(file)
	must(t, err)
	if info.Mode().Perm() != 0o640 {
		t.Errorf("its mode is %s", info.Mode())
	}
	quiet := func() { // runs that find all as it was left, or that only report
		t.Helper()
		_, err := hostrun.Run(t.Context(), o, func(context.Context, engine.Store) (report.Report, error) {
			return report.Report{Kind: "Report", Status: "unchanged"}, nil
		})
		must(t, err)
	}
	quiet()
	o.ReadOnly = true
	run()
	if after, err := os.ReadFile(file); err != nil || string(after) != string(text) {
		t.Errorf("a run that only reports, or had nothing to tell, replaced it: %v, %s", err, after)
	}
	o.ReadOnly = false
	failed := report.Report{Kind: "Report", Status: "failed", Counts: report.Counts{Failed: 1}}
	_, err = hostrun.Run(t.Context(), o, func(context.Context, engine.Store) (report.Report, error) { return failed, nil })
	must(t, err)
	quiet()
	if after, err := os.ReadFile(file); err != nil || !strings.Contains(string(after), `"status": "unchanged"`) {
		t.Errorf("a failure that went away is still told: %v, %s", err, after)
	}
}

func TestDisabledRunDoesNothing(t *testing.T) {
	o := options(t, t.TempDir())
	must(t, state.Disable(o.Dir, "why not", time.Time{}))
	_, err := hostrun.Run(t.Context(), o, never(t))
	if disabled, ok := errors.AsType[*state.DisabledError](err); !ok || disabled.Message != "why not" {
		t.Errorf("got %v", err)
	}
	o.Override = true
	if _, err := hostrun.Run(t.Context(), o, fine); err != nil {
		t.Errorf("the override: %v", err)
	}
}

func TestRunWaitsForTheLockUntilItsDeadline(t *testing.T) {
	o := options(t, t.TempDir())
	other, err := state.Open(o.Dir, state.Options{})
	must(t, err)
	locked := func(what string, err error) {
		t.Helper()
		if _, ok := errors.AsType[*state.LockedError](err); !ok {
			t.Errorf("%s: got %v", what, err)
		}
	}
	_, err = hostrun.Run(t.Context(), o, never(t))
	locked("without waiting", err)
	o.Wait = 200 * time.Millisecond
	_, err = hostrun.Run(t.Context(), o, never(t))
	locked("when the wait is over", err)

	o.Wait = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := hostrun.Run(ctx, o, never(t))
		ended <- err
	}()
	cancel()
	locked("when it is stopped", <-ended)

	must(t, other.Close())
	_, err = hostrun.Run(t.Context(), o, fine)
	must(t, err)
}

func TestRunDisabledWhileWaitingDoesNothing(t *testing.T) {
	o := options(t, t.TempDir())
	o.Wait = time.Hour
	other, err := state.Open(o.Dir, state.Options{})
	must(t, err)
	meanwhile := func() {
		must(t, state.Disable(o.Dir, "meanwhile", time.Time{}))
		must(t, other.Close())
	}
	_, err = hostrun.Run(&waited{Context: t.Context(), on: sync.OnceFunc(meanwhile)}, o, never(t))
	if disabled, ok := errors.AsType[*state.DisabledError](err); !ok || disabled.Message != "meanwhile" {
		t.Errorf("got %v", err)
	}
}

// A waited context calls on when someone waits for its end.
type waited struct {
	context.Context
	on func()
}

func (w *waited) Done() <-chan struct{} {
	w.on()
	return w.Context.Done()
}

func TestRunTimesOut(t *testing.T) {
	o := options(t, t.TempDir())
	o.Limit = time.Millisecond
	cause := func(ctx context.Context, _ engine.Store) (report.Report, error) {
		<-ctx.Done()
		return report.Report{}, context.Cause(ctx)
	}
	if _, err := hostrun.Run(t.Context(), o, cause); err == nil || err.Error() != "its time limit of 1ms was exceeded" {
		t.Errorf("got %v", err)
	}
	o.Limit = 0
	_, err := hostrun.Run(t.Context(), o, func(ctx context.Context, _ engine.Store) (report.Report, error) {
		if _, limited := ctx.Deadline(); limited {
			t.Error("there is a limit although none was set")
		}
		return report.Report{}, nil
	})
	must(t, err)
}

func options(t *testing.T, root string) hostrun.Options {
	t.Helper()
	h, err := linux.Open(linux.Options{Root: root})
	must(t, err)
	t.Cleanup(func() { _ = h.Close() })
	return hostrun.Options{Dir: t.TempDir(), Host: h, Warn: func(message string) { t.Errorf("warned: %s", message) }}
}

func fine(context.Context, engine.Store) (report.Report, error) { return report.Report{}, nil }

func never(t *testing.T) func(context.Context, engine.Store) (report.Report, error) {
	return func(context.Context, engine.Store) (report.Report, error) {
		t.Error("there was a run")
		return report.Report{}, nil
	}
}

func note(t *testing.T, root, what string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(root, "did"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(what + "\n")
	must(t, errors.Join(err, f.Close()))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
