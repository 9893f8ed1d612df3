package reconcile_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/drift"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/hostrun"
	"github.com/fettle-dev/fettle/internal/reconcile"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// A fixture is a Debian root that a loop keeps in the state of a catalog. Its clock stands still unless a test moves it.
type fixture struct {
	*reconcile.Loop
	t       *testing.T
	root    string
	clock   *clocktesting.FakeClock
	control hostrun.Options
	kinds   []resource.Kind
	bound   *int // how often a kind has bound attributes

	items       []resource.Item
	observe     func(report.ResourceReport)
	corrections []reconcile.Outcome
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{t: t, root: debian.Root(t), clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)), bound: new(int)}
	for _, k := range providers.Kinds() {
		w.kinds = append(w.kinds, counting{k, w.bound})
	}
	h, err := linux.Open(linux.Options{Root: w.root})
	must(t, err)
	watcher, err := drift.New(h, time.Hour)
	must(t, err)
	t.Cleanup(func() {
		must(t, watcher.Close())
		must(t, h.Close())
	})
	w.control = hostrun.Options{Dir: filepath.Join(w.root, "var/lib/fettle"), Host: h, Warn: func(message string) { t.Error(message) }}
	w.Loop = &reconcile.Loop{
		Clock: w.clock, Watcher: watcher, Warn: func(err error) { t.Error(err) },
		Corrected: func(o reconcile.Outcome, err error) {
			must(t, err)
			w.corrections = append(w.corrections, o)
		},
	}
	return w
}

// A counting kind counts how often it binds attributes.
type counting struct {
	resource.Kind
	bound *int
}

// Bind implements [resource.Kind].
func (c counting) Bind(ref resource.Ref, attributes json.RawMessage, secrets ...resource.Secret) (resource.Resource, error) {
	*c.bound++
	return c.Kind.Bind(ref, attributes, secrets...)
}

// has adds a resource to the catalog.
func (w *fixture) has(ref, attributes string, relate ...func(*resource.Item)) {
	w.t.Helper()
	item := resource.Item{Ref: refOf(w.t, ref)}
	for _, k := range w.kinds {
		if k.Name() == item.Ref.Kind {
			r, err := k.Bind(item.Ref, json.RawMessage(attributes))
			must(w.t, err)
			item.Resource = r
		}
	}
	for _, f := range relate {
		f(&item)
	}
	w.items = append(w.items, item)
}

func (w *fixture) notifies(ref string) func(*resource.Item) {
	return func(i *resource.Item) { i.Notify = append(i.Notify, refOf(w.t, ref)) }
}

func (w *fixture) requires(ref string) func(*resource.Item) {
	return func(i *resource.Item) { i.Require = append(i.Require, refOf(w.t, ref)) }
}

func refOf(t *testing.T, text string) resource.Ref {
	t.Helper()
	ref, err := resource.ParseRef(text)
	must(t, err)
	return ref
}

func (w *fixture) catalog(engine.Store) reconcile.Catalog {
	return reconcile.Catalog{Items: w.items, Transaction: engine.Transaction{
		Host: w.control.Host, Bucket: bucket.New(w.control.Host, bucket.DefaultDir, bucket.DefaultLimit), Facts: resource.Facts{"os": map[string]any{"family": "Debian"}}, Kinds: w.kinds, Now: w.clock.Now, Observe: w.observe,
	}}
}

// run runs the catalog, and returns what it reports.
func (w *fixture) run() []string {
	w.t.Helper()
	o, err := w.Run(w.t.Context(), w.control, w.catalog)
	must(w.t, err)
	return lines(o)
}

// converge runs the catalog until nothing is left to do, and to check again.
func (w *fixture) converge() {
	w.t.Helper()
	w.run()
	w.clock.Step(drift.RecheckDelay)
	if left := w.run(); len(left) > 0 || !w.Due().IsZero() {
		w.t.Fatalf("the second run reports %q, and the next one is due at %s", left, w.Due())
	}
}

// correct corrects the drift that is due, and returns the correction.
func (w *fixture) correct() reconcile.Outcome {
	w.t.Helper()
	before := len(w.corrections)
	w.Correct(w.t.Context(), w.control, w.catalog)
	if len(w.corrections) != before+1 {
		w.t.Fatalf("there were %d corrections instead of one", len(w.corrections)-before)
	}
	return w.corrections[before]
}

// lines returns the states of the resources that are not in sync, and their events.
func lines(o reconcile.Outcome) (all []string) {
	for _, r := range o.Report.Resources {
		if r.State != report.InSync {
			all = append(all, string(r.State)+" "+r.Ref.String())
		}
		all = append(all, r.Lines()...)
	}
	return all
}

func (w *fixture) path(name string) string { return filepath.Join(w.root, name) }

func (w *fixture) chmod(name string, mode os.FileMode) {
	w.t.Helper()
	must(w.t, os.Chmod(w.path(name), mode))
}

// mode returns the permissions of a file.
func (w *fixture) mode(name string) os.FileMode {
	w.t.Helper()
	info, err := os.Stat(w.path(name))
	must(w.t, err)
	return info.Mode().Perm()
}

// noticed waits until the host has reported changes, and lets the time pass that they are debounced.
func (w *fixture) noticed() {
	w.t.Helper()
	patient.Receive(w.t, "the host reports a change", w.Watcher.Ready())
	w.Poll()
	w.clock.Step(drift.MaxDebounce)
}

// during calls check again and again while a command runs, until check has ended the command.
func (w *fixture) during(check func()) {
	const poll = 10 * time.Millisecond
	w.Wait = func(_ context.Context, done <-chan struct{}, _ time.Duration) bool {
		again := time.NewTimer(poll)
		defer again.Stop()
		select {
		case <-done:
			return true
		case <-w.Watcher.Ready():
			w.Poll()
			w.clock.Step(drift.CorrectionDebounce)
		case <-again.C:
			check()
		}
		return false
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
