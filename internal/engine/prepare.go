package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/text"
)

// preRun asks whether the run can take place, before anything is changed: each provider with such a
// check once, about all of its resources that have a turn. A resource whose check fails is invalid.
// An objection also ends the returned context, so that all others are skipped.
func (r *run) preRun(ctx context.Context) (context.Context, context.CancelFunc) {
	var checked []*entry
	for _, e := range r.entries {
		if r.hasPreRunCheck(e) {
			checked = append(checked, e)
		}
	}
	var objecting []resource.Ref
	for _, group := range byProvider(checked) {
		errs := bound.PreRunCheckAll(ctx, r.sharedReader(), resourcesOf(group))
		for i, err := range errs {
			_, objects := errors.AsType[*resource.ObjectionError](err)
			if err == nil || !objects && ctx.Err() != nil { // the run ends, so nothing has failed
				continue
			}
			group[i].situation.Invalid = fmt.Errorf("its check before the run failed: %w", err)
			if objects {
				objecting = append(objecting, group[i].Ref)
			}
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if len(objecting) > 0 {
		cancel(errors.New("some checks before the run failed: " + text.List(objecting)))
	}
	return ctx, func() { cancel(nil) }
}

// hasPreRunCheck reports whether a resource is to be checked before the run. One without a suitable
// provider is not: another resource may bring that.
func (r *run) hasPreRunCheck(e *entry) bool {
	if e.Resource == nil || !e.Resource.Traits().PreRunCheck {
		return false
	}
	r.checkSchedule(e)
	if decide.Refusal(e.situation).Action != decide.Keep {
		return false
	}
	if resource.Guarded(func() error { return r.chooseProvider(e) }) != nil { // it is asked again at its turn
		return false
	}
	return e.Resource.Unsupported() == nil && e.Resource.Abilities().PreRunCheck
}

// byProvider groups resources by kind and provider, in the order of the first of each.
func byProvider(entries []*entry) [][]*entry {
	var groups [][]*entry
	at := map[providerKey]int{}
	for _, e := range entries {
		key := providerKey{e.Ref.Kind, e.Resource.Provider()}
		i, known := at[key]
		if !known {
			i = len(groups)
			at[key], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], e)
	}
	return groups
}

func resourcesOf(group []*entry) []resource.Resource {
	all := make([]resource.Resource, len(group))
	for i, e := range group {
		all[i] = e.Resource
	}
	return all
}

// recordSecrets records the secrets of all resources on the host, whether they have a turn or not:
// later runs must not show them. If that fails, the resources with secrets fail.
func (r *run) recordSecrets(ctx context.Context) {
	if r.Noop {
		return
	}
	carriers := map[string][]*entry{}
	for _, e := range r.entries {
		if e.Resource != nil && e.Resource.HasSecret() {
			carriers[e.Ref.Kind] = append(carriers[e.Ref.Kind], e)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(carriers)) {
		var all []resource.Resource
		for _, e := range carriers[kind] {
			all = append(all, e.Resource)
		}
		err := resource.Guarded(func() error { return bound.RecordSecrets(ctx, r.call().Writer(r.Host), all) })
		for _, e := range carriers[kind] {
			e.situation.Invalid = errors.Join(e.situation.Invalid, err)
		}
	}
}

// prepare fills in the situation before reading. It reports whether to wait for a provider that may
// still be installed.
func (r *run) prepare(ctx context.Context, e *entry) (wait bool) {
	s := &e.situation
	if ctx.Err() != nil {
		s.Stopped = context.Cause(ctx)
		r.stopped = s.Stopped
	}
	r.includeAfterChange(e)
	r.checkSchedule(e)
	s.FailedDeps = nil
	for _, n := range r.plan.Before[e.node] {
		if r.entries[n].blocksDependents {
			s.FailedDeps = append(s.FailedDeps, r.entries[n].Ref)
		}
	}
	if s.NoProvider == nil && decide.Refusal(*s).Action != decide.Keep {
		return false
	}
	r.choose(e)
	none, missing := errors.AsType[*resource.NoProviderError](s.NoProvider)
	if !missing || none.Final {
		return false
	}
	if r.final {
		r.noteAnyAppliedFirst(e)
	}
	return !r.final
}

// includeAfterChange includes a resource in a partial run that has changed one before it. One whose provider has to be asked
// before the run waits for a whole run.
func (r *run) includeAfterChange(e *entry) {
	if !r.isPartial() || r.Selected != nil && !r.Selected(e.Item) || e.Resource == nil || e.Resource.Traits().PreRunCheck {
		return
	}
	changed := slices.ContainsFunc(r.plan.Before[e.node], func(n int) bool { return r.entries[n].changed() })
	e.situation.Unselected = e.situation.Unselected && !changed
}

// choose looks for a provider until there is one, but only once between two writes.
func (r *run) choose(e *entry) {
	s := &e.situation
	if e.Resource == nil || e.asked > 0 && (s.NoProvider == nil || e.asked == r.writes+1) {
		return
	}
	e.asked = r.writes + 1
	s.NoProvider = resource.Guarded(func() error { return r.chooseProvider(e) })
	if s.NoProvider != nil {
		return
	}
	e.report.Provider = e.Resource.Provider()
	s.Unsupported = e.Resource.Unsupported()
	s.CanRefresh = e.Resource.Abilities().Refresh
}

// A providerKey is the kind of a resource and the provider that it asks for.
type providerKey struct{ kind, provider string }

// chooseProvider chooses a provider. It takes the one of another resource with the same key if
// nothing was written since.
func (r *run) chooseProvider(e *entry) error {
	w := providerKey{e.Ref.Kind, e.Provider}
	if other, ok := r.providers[w]; ok && bound.ChooseAs(e.Resource, other) {
		return nil
	}
	err := e.Resource.Choose(r.Facts, r.reader, e.Provider)
	if err == nil {
		r.providers[w] = e.Resource
	}
	return err
}

// checkSchedule fills in whether the schedule of a resource permits it now, unless it is postponed for another reason.
// Periods don't apply to deletions.
func (r *run) checkSchedule(e *entry) {
	if e.Schedule == nil || r.IgnoreSchedules || e.situation.Invalid != nil || e.situation.Unscheduled != nil {
		return
	}
	zone, err := r.timeZone()
	if err != nil {
		e.situation.Invalid = fmt.Errorf("cannot evaluate its schedule: %w", err)
		return
	}
	var last time.Time
	if e.Deletes == nil {
		last = r.Store.Checked(e.thing)
	}
	e.situation.Unscheduled = e.Schedule.Due(last, r.Now().In(zone))
	e.report.Left = e.situation.Unscheduled != nil && !last.IsZero()
}

// localTime is the file with the time zone of a host.
const localTime = "/etc/localtime"

// timeZone returns the time zone of the host, UTC if it has none. It is read once.
func (r *run) timeZone() (*time.Location, error) {
	if r.location != nil {
		return r.location, nil
	}
	rules, err := r.hosts.bare.ReadFile(localTime)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.location = time.UTC
	case err != nil:
		return nil, fmt.Errorf("cannot read the host's time zone: %w", err)
	default:
		if r.location, err = time.LoadLocationFromTZData(localTime, rules); err != nil {
			return nil, fmt.Errorf("cannot read the host's time zone from %s: %w", localTime, err)
		}
	}
	return r.location, nil
}

// identities are the resources of a run by the identities that their providers gave them.
type identities map[plan.Key][]*entry

// findDuplicates fails resources that manage the same thing under different names, before any of
// them is changed. It asks about all resources before the first change, and later only about those
// whose identity was unknown then, such as a file whose directory did not exist.
func (r *run) findDuplicates(ctx context.Context, group []*entry) {
	if !slices.ContainsFunc(group, func(e *entry) bool { return len(e.situation.Changes) > 0 }) {
		return
	}
	if r.identified == nil {
		r.identified = identities{}
		group = r.entries
	}
	var unknown []*entry
	for _, e := range group {
		if r.canIdentify(e) {
			unknown = append(unknown, e)
		}
	}
	for _, group := range byProvider(unknown) {
		r.identify(ctx, group)
	}
}

// canIdentify reports whether a resource is to be identified. Generated resources are not: those of
// the catalog take precedence.
func (r *run) canIdentify(e *entry) bool {
	if e != r.entries[e.node] || e.identity != "" || e.Resource == nil || e.Deletes != nil || e.situation.Invalid != nil || len(e.situation.Cycle) > 0 {
		return false
	}
	if e.asked == 0 && resource.Guarded(func() error { return r.chooseProvider(e) }) != nil { // it is asked again at its turn
		return false
	}
	return e.situation.NoProvider == nil && e.Resource.Abilities().Identify
}

// identify identifies resources of one kind and provider, and fails those that share an identity.
func (r *run) identify(ctx context.Context, group []*entry) {
	found, err := bound.IdentifyAll(ctx, r.sharedReader(), resourcesOf(group))
	for i, e := range group {
		if err != nil {
			r.failDuplicate(e, fmt.Errorf("cannot tell it apart from others: %w", err))
			continue
		}
		if e.identity = found[i]; e.identity == "" {
			continue
		}
		same := plan.Key{Kind: e.Ref.Kind, Name: e.identity}
		for _, other := range r.identified[same] {
			r.failDuplicate(e, duplicateError(e, other))
			r.failDuplicate(other, duplicateError(other, e))
		}
		r.identified[same] = append(r.identified[same], e)
	}
}

func duplicateError(e, other *entry) error {
	return fmt.Errorf("%q is on this host the same as %q of %s: keep one of the two resources, or let their nodeSelector or when exclude each other",
		e.Resource.Namevar(), other.Resource.Namevar(), other.Ref)
}

// failDuplicate fails a resource, even one that has ended.
func (r *run) failDuplicate(e *entry, err error) {
	switch {
	case e.situation.Invalid != nil: // by another resource, too
	case e.done:
		r.failLater(e, err)
	default:
		e.situation.Invalid = err
	}
}
