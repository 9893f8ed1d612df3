// Package job applies manifests to one host: once, or again and again.
package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fettle-dev/fettle/internal/cli/manifests"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/selection"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/guard"
	"github.com/fettle-dev/fettle/internal/hostrun"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/reconcile"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
)

// A Job is everything that runs of the same manifests share.
type Job struct {
	Host    host.Host
	Bucket  resource.Bucket
	Kinds   []resource.Kind
	Facts   func() (resource.Facts, []error) // gathers the facts of the next run
	Printer *output.Printer
	Style   output.Style
	Control hostrun.Options
	Guard   guard.Options

	Manifests *manifest.Set
	Selected  selection.Selection
	// Labels of this machine, which nodeSelector is matched against; nil ignores nodeSelector.
	Labels labels.Set
	Noop   bool // change only resources with noop: false
	// Plan changes nothing at all, and counts pending changes in the exit code.
	Plan              bool
	IgnoreSchedules   bool
	DetailedExitCodes bool          // Puppet's exit codes
	Interval          time.Duration // between runs of Watch

	loop *reconcile.Loop // nil if the job runs once
}

// ErrStopped means that a signal ended a run before it was complete.
var ErrStopped = errors.New("stopped by a signal before the end; run it again")

// Once runs once and prints the report. The error is an output.Exit if the run itself took place.
func (j *Job) Once(ctx context.Context) error {
	j.warnDisabled()
	result, err := j.run(ctx)
	if printErr := j.Printer.Report(result, j.Style); printErr != nil || err != nil {
		return errors.Join(err, printErr)
	}
	if ctx.Err() != nil {
		return ErrStopped
	}
	return j.exitCode(result)
}

// warnDisabled prints a warning if runs of agents are disabled.
func (j *Job) warnDisabled() {
	err := state.Disabled(j.Control.Dir)
	if _, disabled := errors.AsType[*state.DisabledError](err); disabled {
		j.Printer.Warn("note: %v; this run takes place anyway", err)
	} else if err != nil {
		j.Printer.Warn("note: %v", err)
	}
}

// run compiles the manifests for this machine and applies them. A zero report means that there was no run.
func (j *Job) run(ctx context.Context) (report.Report, error) {
	result, err := hostrun.Run(ctx, j.Control, func(ctx context.Context, store engine.Store) (report.Report, error) {
		c := j.catalog()
		c.Transaction.Store = store
		done := j.showProgress(ctx, &c)
		defer done()
		return c.Transaction.Run(ctx, c.Items)
	})
	return result, ExplainPermission(err)
}

// ExplainPermission adds a remedy to the error of a user who may not write the state.
func ExplainPermission(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; run fettle as root, or give a --state-dir of your own", err)
	}
	return err
}

// catalog compiles the manifests for this machine.
func (j *Job) catalog() reconcile.Catalog {
	began := time.Now()
	facts := j.gather()
	gathered := time.Now()
	hostname := facts.String("networking.hostname")
	in := manifests.Input(j.Manifests, j.Kinds)
	in.Nodes = []compiler.Node{{Name: hostname, Labels: j.Labels, Facts: func() resource.Facts { return facts }}}
	items, withheld, problems := compiler.Prepare(in)
	t := engine.Transaction{
		Host: j.Host, Guard: j.Guard, Bucket: j.Bucket, Facts: facts, Kinds: j.Kinds, HostName: hostname, Digest: fmt.Sprintf("sha256-%x", j.Manifests.Digest), Noop: j.Noop, Now: time.Now, Trace: j.Printer.Tracer(),
		Selected: func(i resource.Item) bool { return j.Selected.Has(i.Ref) },
		Refused:  reportsOf(problems, j.Selected), Withheld: withheld, IgnoreSchedules: j.IgnoreSchedules,
		Before: map[string]time.Duration{report.FactGeneration: gathered.Sub(began), report.ConfigRetrieval: time.Since(gathered)},
	}
	if j.Plan { // a plan gets a read-only host
		t.Host, t.Reader = nil, j.Host
	}
	j.debugProviders(items, facts)
	return reconcile.Catalog{Items: items, Transaction: t}
}

// showProgress prints what happens in a run of a catalog until done is called.
func (j *Job) showProgress(ctx context.Context, c *reconcile.Catalog) (done func()) {
	ended, total := 0, len(c.Items)
	current := &Current{}
	c.Transaction.Begin = func(refs []resource.Ref) {
		current.Begin(refs)
		if j.Printer.ErrProgress {
			j.Printer.ShowProgress(progress(ended, total, refs))
		}
	}
	c.Transaction.Observe = func(r report.ResourceReport) {
		current.End()
		ended++
		if j.loop != nil {
			r.Attribute(j.loop.Watcher.Author)
		}
		j.observe(r)
	}
	stop := current.AnnounceStop(ctx, j.Printer)
	return func() {
		stop()
		j.Printer.EndProgress()
	}
}

func (j *Job) gather() resource.Facts {
	facts, errs := j.Facts()
	j.Printer.Warnings(errs)
	return facts
}

func (j *Job) debugProviders(items []resource.Item, facts resource.Facts) {
	used := map[string]bool{}
	for _, i := range items {
		used[i.Ref.Kind] = true
	}
	for _, k := range j.Kinds {
		if used[k.Name()] {
			j.Printer.DebugProviders(k, facts, j.Host)
		}
	}
}

// observe prints a resource when it is done. Resources that are not selected are only counted in the summary.
func (j *Job) observe(r report.ResourceReport) {
	j.Printer.DebugResource(r)
	if j.Style.Format == "text" && (j.Selected.Has(resource.Ref(r.Ref)) || j.Printer.Debugging) {
		j.Printer.Resource(r, j.Style.Diffs)
	}
}

// warnUnwatched prints which paths can't be watched.
func (j *Job) warnUnwatched(err error) {
	j.Printer.Warn("warning: %v; drift there is corrected every %s", err, j.Interval)
}

// exitCode is Puppet's with DetailedExitCodes: a run under noop counts as one without changes. That of a plan
// counts pending changes.
func (j *Job) exitCode(r report.Report) error {
	changes := r.Changes(report.Success) || j.Plan && (r.Counts.Noop > 0 || r.Changes(report.Pending))
	code := 0
	if j.DetailedExitCodes && changes {
		code |= 2
	}
	if r.Status == "failed" {
		code |= 4
	}
	switch {
	case code == 0:
		return nil
	case !j.DetailedExitCodes:
		return output.Exit(1)
	}
	return output.Exit(code)
}
