package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/installed"
	"github.com/fettle-dev/fettle/internal/cli/job"
	"github.com/fettle-dev/fettle/internal/cli/manifests"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/selection"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/facts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/guard"
	"github.com/fettle-dev/fettle/internal/hostrun"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/internal/text"
)

func (a *app) runApply(ctx context.Context, f applyFlags) error {
	return a.withHost(func(h Host) error {
		gather := func() (resource.Facts, []error) { return facts.Gather(ctx, h) }
		if f.before == "" && !f.watch && !a.out.Debugging {
			var stop func()
			gather, stop = gatherAhead(ctx, h)
			defer stop() // before the host is closed
		}
		j, cache, err := a.newJob(ctx, h, f)
		if err != nil {
			return err
		}
		j.Host, j.Control.Host, j.Facts = h, h, gather
		return a.withBucket(h, f.bucket, func(b *bucket.Bucket) error {
			j.Bucket = b
			a.noteOrdinaryUser(h, j.Control.ReadOnly)
			return a.runJob(ctx, j, cache, f.watch)
		})
	})
}

// gatherAhead gathers facts while manifests are read, because gathering mostly waits for commands. stop
// returns when it no longer uses the host.
func gatherAhead(ctx context.Context, h host.Reader) (gather func() (resource.Facts, []error), stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	var all resource.Facts
	var errs []error
	group.Go(func() { all, errs = facts.Gather(ctx, h) })
	gather = func() (resource.Facts, []error) { group.Wait(); return all, errs }
	return gather, func() { cancel(); group.Wait() }
}

// noteOrdinaryUser says what a run means that is not root's, unless the host is a directory of that user.
func (a *app) noteOrdinaryUser(h host.Reader, readOnly bool) {
	me := os.Geteuid()
	if root, err := h.Lstat("/"); me == 0 || err == nil && root.UID == me {
		return
	}
	can := "read or change fails"
	if readOnly {
		can = "read fails here, and what only root can change is planned as for root"
	}
	a.out.Warn("note: fettle does not run as root: what only root can %s", can)
}

func (a *app) runJob(ctx context.Context, j *job.Job, cache *manifest.Cache, watch bool) error {
	if watch {
		a.saveCache(j, cache)
		return j.Watch(ctx)
	}
	err := j.Once(ctx)
	if !errors.Is(err, fs.ErrPermission) { // otherwise the state can't be written, and err says so
		a.saveCache(j, cache)
	}
	return err
}

// saveCache saves the decoded manifests for the next run, unless this one is read-only.
func (a *app) saveCache(j *job.Job, cache *manifest.Cache) {
	if j.Control.ReadOnly {
		return
	}
	if err := cache.Save(); err != nil {
		a.out.Warn("warning: %v", err)
	}
}

// newJob checks the flags and reads the manifests, before anything on the host is read or written.
func (a *app) newJob(ctx context.Context, h host.Host, f applyFlags) (j *job.Job, cache *manifest.Cache, err error) {
	j = &job.Job{
		Printer: a.out, Style: output.Style{Format: f.output, Diffs: f.diff, Many: f.watch},
		Noop: f.noop, Plan: f.plan, IgnoreSchedules: f.ignoreSchedules, DetailedExitCodes: f.detailedCodes, Interval: f.interval,
		Control: hostrun.Options{
			Limit: f.limit, Wait: f.wait, Warn: func(message string) { a.out.Warn("warning: %s", message) },
			Waiting: func(l *state.LockedError) { a.out.Warn("%s", l.Waiting()) },
			// Disabled runs are for agents, and --watch is one. A user who starts a single run wants it now.
			Override: !f.watch,
		},
	}
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	var beforeErr, afterErr error
	j.Control.Before, beforeErr = splitCommand("--prerun-command", f.before)
	j.Control.After, afterErr = splitCommand("--postrun-command", f.after)
	if err := cmp.Or(beforeErr, afterErr); err != nil {
		return nil, nil, err
	}
	selector, err := labels.Parse(f.selector)
	if err != nil {
		return nil, nil, fmt.Errorf("--selector %q: %w", f.selector, err)
	}
	if j.Labels, err = parseLabels(f.labels); err != nil {
		return nil, nil, err
	}
	if cache, err = a.readInto(ctx, j, f); err != nil {
		return nil, nil, err
	}
	programs, err := a.programs(h, f.bucket.stateDir)
	if err != nil {
		return nil, nil, err
	}
	j.Kinds = a.kinds(j.Manifests.Types, programs)
	j.Guard = a.guard(ctx, h, f, j.Manifests.Types)
	all, refused := j.Manifests.Resources(), manifests.Refusals(j.Manifests.Faults)
	if j.Selected, err = selection.Select(j.Kinds, all, refused, f.names, selector); err != nil {
		return nil, nil, err
	}
	// A noop run must neither create nor change state.
	j.Control.ReadOnly = f.plan || f.noop && !slices.ContainsFunc(all, overridesNoop)
	a.pull(ctx, programs, typesOf(j.Manifests.Types, all, j.Selected), j.Control.ReadOnly)
	return j, cache, nil
}

// guard returns what keeps the resources of a run from Fettle's own files, and says what those in noop may do.
func (a *app) guard(ctx context.Context, h host.Reader, f applyFlags, types manifest.Types) guard.Options {
	return guard.Options{Own: a.own(h, f.bucket), Access: !f.plan && !f.noop || a.grantsAccess(ctx, types)}
}

// grantsAccess reports whether a simulation leaves their network and sockets to the programs of types: if the host has all of
// them. The author of a manifest may be one who may not change the host.
func (a *app) grantsAccess(ctx context.Context, types manifest.Types) bool {
	known, _ := installed.Read(ctx, a.place.top, a.place.types) // faults were reported
	var foreign []string
	for _, d := range types.Definitions() {
		is := known.Of(d.Spec.Kind)
		if (d.Spec.Access.Network || len(d.Spec.Access.Sockets) > 0) && (is == nil || !reflect.DeepEqual(is.Spec, d.Spec)) {
			foreign = append(foreign, d.Spec.Kind)
		}
	}
	if len(foreign) > 0 {
		a.out.Warn("warning: programs have neither a network nor sockets in this run, because the manifests define the types of %s: install the types to change that", text.List(foreign))
	}
	return len(foreign) == 0
}

// typesOf returns the external types of selected resources.
func typesOf(types manifest.Types, all []v1alpha1.Resource, selected selection.Selection) []*definition.Definition {
	return slices.DeleteFunc(types.Definitions(), func(d *definition.Definition) bool {
		return !slices.ContainsFunc(all, func(r v1alpha1.Resource) bool {
			return r.KindName() == d.Spec.Kind && selected.Has(selection.RefOf(r))
		})
	})
}

// overridesNoop reports whether a resource is applied even by a noop run.
func overridesNoop(r v1alpha1.Resource) bool {
	noop := r.GetTargeting().Noop
	return noop != nil && !*noop
}

// readInto reads the manifests of a job. A document that does not say which resource it describes is an
// error: other resources may depend on that one, and a Purge may have to spare it.
func (a *app) readInto(ctx context.Context, j *job.Job, f applyFlags) (cache *manifest.Cache, err error) {
	if j.Control.Dir, err = a.place.stateDir(f.bucket.stateDir); err != nil {
		return nil, err
	}
	cache = manifest.OpenCache(state.NewCache(j.Control.Dir, "manifests"), sourceNames(f.sources))
	j.Manifests = a.readManifests(ctx, f.sources, cache)
	if ctx.Err() != nil {
		return nil, job.ErrStopped
	}
	a.warnIgnored(j.Manifests)
	if slices.ContainsFunc(j.Manifests.Faults, func(f manifest.Fault) bool { return f.Ref == "" }) {
		a.warnFaults(j.Manifests.Faults)
		if f.plan {
			return nil, errors.New("nothing was planned: correct the manifests first")
		}
		return nil, errors.New("nothing was applied: correct the manifests first")
	}
	return cache, nil
}

// check validates combinations and ranges of flags.
func (f applyFlags) check() error {
	if err := flags.OneOf("--output", f.output, "text", "json", "yaml"); err != nil {
		return err
	}
	switch {
	case f.watch && f.interval < time.Second:
		return fmt.Errorf("--interval %s is too short: use 1s or more", f.interval)
	case f.limit < 0:
		return fmt.Errorf("--run-timeout %s is negative: use 0s for none", f.limit)
	case f.wait < 0:
		return fmt.Errorf("--wait-for-lock %s is negative: use 0s not to wait", f.wait)
	}
	return nil
}

// splitCommand reads a command of the host.
func splitCommand(flag, command string) ([]string, error) {
	argv, err := hostrun.Command(command)
	if err != nil {
		return nil, fmt.Errorf("%s %q %w", flag, command, err)
	}
	return argv, nil
}

// parseLabels parses --labels; nil if it is empty.
func parseLabels(text string) (labels.Set, error) {
	if text == "" {
		return nil, nil
	}
	set, err := labels.ConvertSelectorToLabelsMap(text)
	if err != nil {
		return nil, fmt.Errorf("--labels %q: %w; write them as role=web,tier=front", text, err)
	}
	return set, nil
}
