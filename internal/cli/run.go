package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/kballard/go-shellquote"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/drift"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/hostrun"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
)

// A job is what apply does, as often as it does it.
type job struct {
	*app
	applyFlags
	host     Host
	bucket   *bucket.Bucket
	facts    func() (resource.Facts, []error) // gathers those of the next run
	set      *manifest.Set
	cache    *manifest.Cache
	refused  map[v1alpha1.ResourceRef]string // what is wrong with resources that the set lacks
	selected selection
	machine  labels.Set
	control  hostrun.Options
	lookout  *drift.Lookout // nil: nothing is watched
}

func (a *app) runApply(ctx context.Context, f applyFlags) error {
	return a.withHost(func(h Host) error {
		gather := func() (resource.Facts, []error) { return gatherFacts(ctx, h) }
		if f.before == "" && !f.watch && !a.debug {
			var ended func()
			gather, ended = ahead(ctx, h)
			defer ended() // before the host is closed
		}
		j, err := a.newJob(ctx, f)
		if err != nil {
			return err
		}
		j.host, j.control.Host, j.facts = h, h, gather
		return a.withBucket(h, f.kept, func(b *bucket.Bucket) error {
			j.bucket = b
			return j.do(ctx)
		})
	})
}

// ahead gathers facts while manifests are read: most of the time it waits for commands. ended
// returns once nothing is asked of the host any more.
func ahead(ctx context.Context, h host.Reader) (gather func() (resource.Facts, []error), ended func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	var known resource.Facts
	var errs []error
	group.Go(func() { known, errs = gatherFacts(ctx, h) })
	gather = func() (resource.Facts, []error) { group.Wait(); return known, errs }
	return gather, func() { cancel(); group.Wait() }
}

// do is the whole job.
func (j *job) do(ctx context.Context) error {
	if j.watch {
		j.keepDecoded()
		return j.keep(ctx)
	}
	j.noteDisabled()
	report, err := j.run(ctx)
	j.keepDecoded()
	if printErr := j.printReport(report, j.applyFlags); printErr != nil || err != nil {
		return errors.Join(err, printErr)
	}
	if ctx.Err() != nil {
		return errStopped
	}
	return exitCode(report, j.applyFlags)
}

var errStopped = errors.New("stopped by a signal before the end; run it again")

// newJob reads what was asked for, and refuses what can't be done.
func (a *app) newJob(ctx context.Context, f applyFlags) (j *job, err error) {
	j = &job{app: a, applyFlags: f, control: hostrun.Options{
		Limit: f.limit, Wait: f.wait, Warn: func(message string) { a.complain("warning: %s", message) },
		// Who asks for one run wants it now; what stays is an agent.
		Override: !f.watch,
	}}
	if err := f.check(); err != nil {
		return nil, err
	}
	if j.control.Before, err = words("--prerun-command", f.before); err != nil {
		return nil, err
	}
	if j.control.After, err = words("--postrun-command", f.after); err != nil {
		return nil, err
	}
	selector, err := labels.Parse(f.selector)
	if err != nil {
		return nil, fmt.Errorf("--selector %q: %w", f.selector, err)
	}
	if j.machine, err = machineLabels(f.labels); err != nil {
		return nil, err
	}
	if err := j.read(ctx); err != nil {
		return nil, err
	}
	if j.selected, err = a.selectResources(j.set.Resources(), j.refused, f.names, selector); err != nil {
		return nil, err
	}
	// A run that only reports makes and changes nothing in the state.
	applies := func(d manifest.Document) bool { return appliesInNoop(d.Resource) }
	j.control.ReadOnly = f.planned || f.noop && !slices.ContainsFunc(j.set.Documents, applies)
	return j, nil
}

// read reads the manifests, before anything is read or written on the host. A document that
// does not say which resource it is about ends it all: nothing tells what depends on that
// resource, or what a Purge is to spare.
func (j *job) read(ctx context.Context) (err error) {
	if err := j.checkRoot(); err != nil {
		return err
	}
	if j.control.Dir, err = j.stateDir(j.kept.stateDir); err != nil {
		return err
	}
	j.cache = manifest.OpenCache(state.NewCache(j.control.Dir, "manifests"), sourceNames(j.sources))
	j.set = j.readManifests(ctx, j.sources, j.cache)
	if ctx.Err() != nil {
		return errStopped
	}
	j.noteIgnored(j.set)
	j.refused = refusals(j.set.Faults)
	if slices.ContainsFunc(j.set.Faults, func(f manifest.Fault) bool { return f.Ref == "" }) {
		j.complainOf(j.set.Faults)
		return errors.New("nothing was applied: correct the manifests first")
	}
	return nil
}

// keepDecoded saves the next run the work of this one, if it may write.
func (j *job) keepDecoded() {
	if j.control.ReadOnly {
		return
	}
	if err := j.cache.Save(); err != nil {
		j.complain("warning: %v", err)
	}
	j.cache = nil
}

// check names what can't be, and the way out.
func (f applyFlags) check() error {
	if err := oneOf("--output", f.output, "text", "json", "yaml"); err != nil {
		return err
	}
	switch {
	case f.watch && f.interval < time.Second:
		return fmt.Errorf("--interval %s is too short: give 1s or more", f.interval)
	case f.limit < 0:
		return fmt.Errorf("--run-timeout %s is negative: give 0s for none", f.limit)
	case f.wait < 0:
		return fmt.Errorf("--wait-for-lock %s is negative: give 0s not to wait", f.wait)
	}
	return nil
}

// words splits a command as a shell would, without expanding anything.
func words(flag, command string) ([]string, error) {
	argv, err := shellquote.Split(command)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", flag, command, err)
	}
	return argv, nil
}

// stateDir is where what is remembered between runs lies on our own file system.
func (a *app) stateDir(asked string) (string, error) {
	if asked != "" {
		return asked, nil
	}
	return state.DirOf(a.root, state.DefaultDir)
}

// noteDisabled says that agents would not run now.
func (j *job) noteDisabled() {
	if disabled, ok := errors.AsType[*state.DisabledError](state.Disabled(j.control.Dir)); ok {
		j.complain("note: %v; this run takes place all the same", disabled)
	}
}

// run compiles the manifests for this machine and applies them once. Without a report
// there was no run.
func (j *job) run(ctx context.Context) (engine.Report, error) {
	report, err := hostrun.Run(ctx, j.control, j.transact)
	return report, mayNot(err)
}

// mayNot adds the way out to an error of who may not write the state.
func mayNot(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; run fettle as root, or give a --state-dir of your own", err)
	}
	return err
}

func (j *job) transact(ctx context.Context, store engine.Store) (engine.Report, error) {
	began := time.Now()
	facts := j.complainOfFacts(j.facts())
	gathered := time.Now()
	hostname := facts.String("networking.hostname")
	items, problems := compiler.Prepare(compiler.Input{
		Nodes:     []compiler.Node{{Name: hostname, Labels: j.machine, Facts: func() resource.Facts { return facts }}},
		Resources: j.set.Resources(),
		Refused:   j.refused,
		Kinds:     j.Kinds,
		ConfigMap: j.set.ConfigMaps.Value,
		Secret:    secretsOf(j.set.Secrets),
	})
	t := engine.Transaction{
		Host: j.host, Bucket: j.bucket, Facts: facts, Kinds: j.Kinds, HostName: hostname, Digest: fmt.Sprintf("sha256-%x", j.set.Digest), Noop: j.noop, Store: store, Now: time.Now, Trace: j.trace(),
		Selected: func(i resource.Item) bool { return j.selected.has(i.Ref) },
		Refused:  refused(problems, j.selected), Withheld: leftOut(problems, j.selected), IgnoreSchedules: j.anyTime,
		Before: map[string]time.Duration{engine.FactGeneration: gathered.Sub(began), engine.ConfigRetrieval: time.Since(gathered)},
	}
	if j.planned { // with nothing to write with
		t.Host, t.Reader = nil, j.host
	}
	j.debugSuitability(items, facts, j.host)
	done := 0
	var hand inHand
	t.Begin = hand.begin
	t.Observe = func(r engine.ResourceReport) {
		hand.end()
		done++
		j.observe(r)
		j.showProgress(done, len(items))
	}
	defer j.announceStop(ctx, &hand)()
	defer j.endProgress()
	j.unwatched(j.lookout.Begin(t.Now(), items, facts))
	report, err := t.Run(ctx, items)
	j.unwatched(j.lookout.End(t.Now(), items, report.Changed()))
	return report, err
}

// observe tells of a resource as it ends.
func (j *job) observe(r engine.ResourceReport) {
	j.debugResource(r)
	left := !j.selected.has(resource.Ref(r.Ref)) && !j.debug // counted at the end
	if j.output == "text" && !left {
		j.printResource(r, j.applyFlags)
	}
}

// unwatched says what can't be watched.
func (j *job) unwatched(err error) {
	if err != nil {
		j.complain("warning: %v; drift there is corrected every %s", err, j.interval)
	}
}
