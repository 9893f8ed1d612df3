package engine

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// A change with side effects may undo earlier results: removing a package may remove others too.
// Resources that were handled before the last such change are therefore read again at the end of the
// traversal, and fail if they are out of sync. A traversal without such changes reads nothing again.

// verifyAtEnd fails resources that later changes of the same traversal undid, unless that was stopped.
func (t *traversal) verifyAtEnd(ctx context.Context) {
	if t.stopped != nil {
		return
	}
	var suspected []*node
	for _, of := range t.turns {
		if of != nil && len(t.suspects(of)) > 0 {
			suspected = append(suspected, of.node)
		}
	}
	for _, group := range byProvider(suspected) {
		t.readAgain(ctx, group)
	}
	t.verifyGenerated(ctx)
}

// suspects returns the resources that may have undone another one since it was read last. There are
// none if that one was out of sync.
func (t *traversal) suspects(of *turn) []resource.Ref {
	if !of.wasInSync() || of.Deletes != nil || of.noop || of.Resource.Traits().Imperative {
		return nil
	}
	return t.epochs.effectsAfter(of.reading.in, of.node)
}

// readAgain reads resources of one kind and provider again, and fails those that are out of sync.
func (t *traversal) readAgain(ctx context.Context, group []*node) {
	suspects := make([][]resource.Ref, len(group))
	for i, n := range group {
		suspects[i] = t.suspects(t.turns[n.index])
	}
	for i, err := range t.reads.all(ctx, group) {
		of := t.turns[group[i].index]
		if err != nil {
			t.failLater(of, fmt.Errorf("cannot tell whether later changes, of %s, undid it: %w", text.List(suspects[i]), err))
			continue
		}
		if t.compare(of); len(of.comparison.Changes) > 0 {
			of.outOfSync = true
			t.failLater(of, fmt.Errorf("was undone in the same run, by %s: %s", text.List(suspects[i]), outOfSync(of.comparison.Changes)))
		}
	}
}

// verifyGenerated fails resources if something that they generated was undone in the same run: by
// what another one generated, as a Tidy removes what a File copies, or by a change with side
// effects, such as the removal of a package. Without either, it reads nothing.
func (t *traversal) verifyGenerated(ctx context.Context) {
	for _, g := range t.generation.generators {
		effects := t.epochs.effectsAfter(g.in, g.of.node)
		if !g.of.blocks && !g.of.noop && (len(effects) > 0 || t.generation.changedAfter(g)) {
			t.verifyGenerator(ctx, g.of, effects)
		}
	}
}

// verifyGenerator looks for a generated resource that is out of sync again. New objects to remove
// don't count.
func (t *traversal) verifyGenerator(ctx context.Context, of *turn, effects []resource.Ref) {
	_ = resource.Guarded(func() error { // a failure says nothing of what others undid
		for res, err := range of.Resource.Generate(ctx, t.calls.sharedReaderOf(t.calls.hostOf(of.node)), inventory{t}) {
			if err != nil {
				return err
			}
			c := t.readGenerated(ctx, of, res)
			if len(c.situation.Changes) == 0 || t.inCatalog(ctx, c) != nil {
				continue
			}
			if other, ok := t.generation.changes[plan.Key{Kind: c.Ref.Kind, Name: c.identity}]; ok && other.parent != of {
				t.failLater(of, fmt.Errorf("%s of this resource was undone in the same run, by %s: %s: keep the two apart, as by ignore",
					c.Ref, other.parent.Ref, outOfSync(c.comparison.Changes)))
				t.failLater(other.parent, fmt.Errorf("undid in the same run %s of %s: keep the two apart, as by ignore", c.Ref, of.Ref))
				return nil
			}
			if len(effects) > 0 && !c.situation.Changes[0].Removes() {
				t.failLater(of, fmt.Errorf("%s of this resource was undone in the same run, by %s: %s", c.Ref, text.List(effects), outOfSync(c.comparison.Changes)))
				return nil
			}
		}
		return nil
	})
}
