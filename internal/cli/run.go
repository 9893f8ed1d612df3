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
	"github.com/fettle-dev/fettle/internal/cli/job"
	"github.com/fettle-dev/fettle/internal/cli/manifests"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/place"
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

// run applies or plans the manifests of the flags, of which names select some resources.
func (c *runCommand) run(ctx context.Context, names []string) error {
	return c.withHost(c.host, func(at place.Place, h place.Host) error {
		gather := func() (resource.Facts, []error) { return facts.Gather(ctx, h) }
		if c.before == "" && !c.watch && !c.out.Debugging {
			var stop func()
			gather, stop = gatherAhead(ctx, h)
			defer stop() // before the host is closed
		}
		j, cache, err := c.newJob(ctx, at, h, names)
		if err != nil {
			return err
		}
		j.Host, j.Control.Host, j.Facts = h, h, gather
		return c.withBucket(at, h, c.bucketLimit, func(b *bucket.Bucket) error {
			j.Bucket = b
			c.noteOrdinaryUser(h, j.Control.ReadOnly)
			return c.runJob(ctx, j, cache)
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
func (c *runCommand) noteOrdinaryUser(h host.Reader, readOnly bool) {
	me := os.Geteuid()
	if root, err := h.Lstat("/"); me == 0 || err == nil && root.UID == me {
		return
	}
	can := "read or change fails"
	if readOnly {
		can = "read fails here, and what only root can change is planned as for root"
	}
	c.out.Warn("note: fettle does not run as root: what only root can %s", can)
}

func (c *runCommand) runJob(ctx context.Context, j *job.Job, cache *manifest.Cache) error {
	if c.watch {
		c.saveCache(j, cache)
		return j.Watch(ctx)
	}
	err := j.Once(ctx)
	if !errors.Is(err, fs.ErrPermission) { // otherwise the state can't be written, and err says so
		c.saveCache(j, cache)
	}
	return err
}

// saveCache saves the decoded manifests for the next run, unless this one is read-only.
func (c *runCommand) saveCache(j *job.Job, cache *manifest.Cache) {
	if j.Control.ReadOnly {
		return
	}
	if err := cache.Save(); err != nil {
		c.out.Warn("warning: %v", err)
	}
}

// newJob checks the flags and reads the manifests, before anything on the host is read or written.
func (c *runCommand) newJob(ctx context.Context, at place.Place, h host.Host, names []string) (j *job.Job, cache *manifest.Cache, err error) {
	selector, err := c.check()
	if err != nil {
		return nil, nil, err
	}
	j = &job.Job{
		Printer: c.out, Style: output.Style{Format: c.output.String(), Diffs: c.diff, Many: c.watch},
		Noop: c.noop, Plan: c.planned, IgnoreSchedules: c.ignoreSchedules, DetailedExitCodes: c.detailedCodes, Interval: c.interval,
	}
	if j.Control, err = c.control(at); err != nil {
		return nil, nil, err
	}
	if j.Labels, err = parseLabels(c.labels); err != nil {
		return nil, nil, err
	}
	cache = manifest.OpenCache(state.NewCache(j.Control.Dir, "manifests"), c.sources.names())
	if j.Manifests, err = c.read(ctx, at, cache); err != nil {
		return nil, nil, err
	}
	programs, err := c.sources.types.programs(at, h)
	if err != nil {
		return nil, nil, err
	}
	j.Kinds = c.kinds(j.Manifests.Types, programs)
	j.Guard = c.guard(ctx, at, h, j.Manifests.Types)
	all, refused := j.Manifests.Resources(), manifests.Refusals(j.Manifests.Faults)
	if j.Selected, err = selection.Select(j.Kinds, all, refused, names, selector); err != nil {
		return nil, nil, err
	}
	// A noop run must neither create nor change state.
	j.Control.ReadOnly = c.planned || c.noop && !slices.ContainsFunc(all, overridesNoop)
	c.pull(ctx, programs, typesOf(j.Manifests.Types, all, j.Selected), j.Control.ReadOnly)
	return j, cache, nil
}

// control returns the environment of the runs.
func (c *runCommand) control(at place.Place) (hostrun.Options, error) {
	o := hostrun.Options{
		Limit: c.limit, Wait: c.wait, Warn: func(message string) { c.out.Warn("warning: %s", message) },
		Waiting: func(l *state.LockedError) { c.out.Warn("%s", l.Waiting()) },
		// Disabled runs are for agents, and --watch is one. A user who starts a single run wants it now.
		Override: !c.watch,
	}
	var beforeErr, afterErr, dirErr error
	o.Before, beforeErr = splitCommand("--prerun-command", c.before)
	o.After, afterErr = splitCommand("--postrun-command", c.after)
	o.Dir, dirErr = at.StateDir()
	return o, cmp.Or(beforeErr, afterErr, dirErr)
}

// guard returns what keeps the resources of a run from Fettle's own files, and says what those in noop may do.
func (c *runCommand) guard(ctx context.Context, at place.Place, h host.Reader, types manifest.Types) guard.Options {
	return guard.Options{Own: ownFiles(at, h), Access: !c.planned && !c.noop || c.grantsAccess(ctx, at, types)}
}

// grantsAccess reports whether a simulation leaves their network and sockets to the programs of types: if the host has all of
// them. The author of a manifest may be one who may not change the host.
func (c *runCommand) grantsAccess(ctx context.Context, at place.Place, types manifest.Types) bool {
	known, _ := c.sources.types.installed(ctx, at) // faults were reported
	var foreign []string
	for _, d := range types.Definitions() {
		is := known.Of(d.Spec.Kind)
		if (d.Spec.Access.Network || len(d.Spec.Access.Sockets) > 0) && (is == nil || !reflect.DeepEqual(is.Spec, d.Spec)) {
			foreign = append(foreign, d.Spec.Kind)
		}
	}
	if len(foreign) > 0 {
		c.out.Warn("warning: programs have neither a network nor sockets in this run, because the manifests define the types of %s: install the types to change that", text.List(foreign))
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

// read reads the manifests. A document that does not say which resource it describes is an
// error: other resources may depend on that one, and a Purge may have to spare it.
func (c *runCommand) read(ctx context.Context, at place.Place, cache *manifest.Cache) (*manifest.Set, error) {
	set := c.readManifests(ctx, c.sources, at, cache)
	if ctx.Err() != nil {
		return nil, job.ErrStopped
	}
	c.warnIgnored(set)
	if slices.ContainsFunc(set.Faults, func(f manifest.Fault) bool { return f.Ref == "" }) {
		c.warnFaults(set.Faults)
		if c.planned {
			return nil, errors.New("nothing was planned: correct the manifests first")
		}
		return nil, errors.New("nothing was applied: correct the manifests first")
	}
	return set, nil
}

// check validates combinations and ranges of flags, and returns the selector.
func (c *runCommand) check() (labels.Selector, error) {
	switch {
	case c.watch && c.interval < time.Second:
		return nil, fmt.Errorf("--interval %s is too short: use 1s or more", c.interval)
	case c.limit < 0:
		return nil, fmt.Errorf("--run-timeout %s is negative: use 0s for none", c.limit)
	case c.wait < 0:
		return nil, fmt.Errorf("--wait-for-lock %s is negative: use 0s not to wait", c.wait)
	}
	selector, err := labels.Parse(c.selector)
	if err != nil {
		return nil, fmt.Errorf("--selector %q: %w", c.selector, err)
	}
	return selector, nil
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
