package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// write makes the changes of a group, in a batch where the provider can, or reports them in noop.
func (t *traversal) write(ctx context.Context, group []*turn) {
	t.findDuplicates(ctx, group)
	t.keepManaged(ctx, group)
	var batch, pretended []*turn
	for _, of := range group {
		of.findInvalid()
		t.predictor.precheckRead(ctx, of)
		switch decide.Decide(of.situation).Action {
		case decide.Apply:
			err := resource.Guarded(func() (err error) {
				of.claiming, err = t.ownership.prepare(ctx, of, t.writer(of))
				return err
			})
			switch {
			case err != nil:
				of.result.fail(err)
			case of.Resource.Abilities().BatchWrite && (of.Resource.Traits().BatchAll || of.situation.Changes[0].Property == resource.Ensure):
				batch = append(batch, of)
			default:
				t.writeOne(ctx, of)
			}
		case decide.ReportNoop:
			pretended = append(pretended, of)
		default: // nothing to write
		}
	}
	t.predictor.reportNoop(ctx, pretended)
	t.writeTogether(ctx, batch)
}

// keepManaged removes nothing that left the catalog under one name, but is in it under another, such as a path through a symlink.
func (t *traversal) keepManaged(ctx context.Context, group []*turn) {
	for _, of := range group {
		if of.Deletes == nil {
			continue
		}
		owner := t.inCatalog(ctx, of)
		if owner == nil {
			continue
		}
		of.situation.Changes, of.outOfSync = nil, false
		if !t.Noop || !owner.noop {
			t.ownership.pass(*of.Deletes, owner)
		}
	}
}

func (t *traversal) writeOne(ctx context.Context, of *turn) {
	group := []*turn{of}
	t.writeAll(group, func() []error {
		if of.ended != nil {
			return []error{of.ended.Err}
		}
		return []error{resource.Guarded(func() error { return of.Resource.Write(ctx, t.writer(of), of.situation.Changes) })}
	})
	t.verify(ctx, group)
}

func (t *traversal) writeTogether(ctx context.Context, batch []*turn) {
	if len(batch) == 0 {
		return
	}
	items := make([]resource.BatchItem, len(batch))
	for i, of := range batch {
		items[i] = of.batchItem()
	}
	t.writeAll(batch, func() []error {
		return batch[0].Resource.Provider().WriteAll(ctx, t.calls.new().Writer(t.busyHost(batch...)), items)
	})
	t.verify(ctx, batch)
}

// writer returns the host for changes of a resource. Notes go to its report.
func (t *traversal) writer(of *turn) resource.Writer {
	return t.writerFor(of, host.Job{Owner: of.object.String()})
}

// writerFor is writer with a job for Detached commands.
func (t *traversal) writerFor(of *turn, job host.Job) resource.Writer {
	c := t.calls.new()
	c.Note, c.Job = of.note, job
	return c.Writer(t.busyHost(of))
}

// writeAll writes, and turns changes and errors into events. It records refreshes and claims on disk
// before the host changes, so that no crash loses one.
func (t *traversal) writeAll(group []*turn, write func() []error) {
	t.beginWrite()
	errs := make([]error, len(group))
	err := t.ownership.save(group)
	if err == nil {
		err = t.refreshes.arm(group...)
	}
	if err == nil {
		errs = write()
	}
	for i, of := range group {
		if err != nil {
			errs[i] = err
		} else {
			t.epochs.wrote(of.node)
		}
		if errors.Is(errs[i], resource.ErrNotBegun) {
			t.stopped = t.calls.interrupted()
			of.situation.Stopped = t.stopped
			continue
		}
		for _, c := range of.situation.Changes {
			of.result.add(t.records.event(of, c, errorOf(errs[i], c.Property)))
		}
		of.attachNotes()
	}
}

// errorOf returns the error of a write for one property: its own PropertyError, if the error
// consists only of PropertyErrors; otherwise the whole error.
func errorOf(err error, property string) error {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	var own error
	for _, e := range all {
		var one *resource.PropertyError
		if !errors.As(e, &one) {
			return err
		}
		if one.Property == property {
			own = one.Err
		}
	}
	return own
}

// verify reads the changed resources again, which decides what was changed. A resource that is still out of sync fails.
func (t *traversal) verify(ctx context.Context, group []*turn) {
	written := slices.DeleteFunc(slices.Clone(group), func(of *turn) bool { return of.Resource.Traits().Imperative || !of.changed() })
	read := t.reads.together
	if len(written) > 1 {
		read = t.reads.all
	}
	for i, err := range read(ctx, nodesOf(written)) {
		of := written[i]
		if err != nil {
			of.result.disbelieve(fmt.Errorf("cannot verify the change: %w", err))
			continue
		}
		t.compare(of)
		t.settle(of)
		if !of.result.failed() && len(of.comparison.Changes) > 0 { // otherwise in part: what was changed is remembered
			of.result.fail(errors.New(ineffective(of.comparison.Changes)))
		}
	}
}

func nodesOf(turns []*turn) []*node {
	nodes := make([]*node, len(turns))
	for i, t := range turns {
		nodes[i] = t.node
	}
	return nodes
}
