package engine

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// A generator is a resource that brought others along, and the writes up to the end of that.
type generator struct {
	of *entry
	at int
}

// broughtAlong is a generated resource that was changed, and the one that generated it.
type broughtAlong struct{ parent, child *entry }

// findUndoneChildren fails resources of which something generated was undone in the same run:
// by what another one generated, as a Tidy removes what a File copies, or by a change with
// side effects, as the removal of a package. Where there was neither, nothing is looked at.
func (r *run) findUndoneChildren(ctx context.Context) {
	for _, g := range r.generators {
		if effects := r.effectsSince(g); !g.of.bad && !g.of.situation.Noop && (len(effects) > 0 || r.changedSince(g)) {
			r.generateAgain(ctx, g.of, effects)
		}
	}
}

// effectsSince are the other resources that made changes with side effects later.
func (r *run) effectsSince(g generator) (refs []resource.Ref) {
	for _, effect := range r.effects {
		if effect.at > g.at && effect.of != g.of {
			refs = append(refs, effect.of.Ref)
		}
	}
	return unique(refs)
}

// changedSince reports whether something that another resource generated was changed later.
func (r *run) changedSince(g generator) bool {
	for _, b := range r.brought {
		if b.parent != g.of && b.child.writtenAt > g.at {
			return true
		}
	}
	return false
}

// generateAgain looks for a generated resource that has to be changed again. That there is
// something more to remove since undoes nothing.
func (r *run) generateAgain(ctx context.Context, e *entry, effects []resource.Ref) {
	_ = resource.Guarded(func() error { // a failure says nothing of what others undid
		for res, err := range e.Resource.Generate(ctx, r.sharedReader(), surroundings{r}) {
			if err != nil {
				return err
			}
			c := r.newChild(ctx, e, res)
			if len(c.situation.Changes) == 0 || r.inCatalog(ctx, c) {
				continue
			}
			if other, ok := r.brought[key{c.Ref.Kind, c.identity}]; ok && other.parent != e {
				r.amend(e, fmt.Errorf("%s of this resource was undone in the same run, by %s: %s: keep the two apart, as by ignore",
					c.Ref, other.parent.Ref, outOfSync(c.comparison)))
				r.amend(other.parent, fmt.Errorf("undid in the same run %s of %s: keep the two apart, as by ignore", c.Ref, e.Ref))
				return nil
			}
			if len(effects) > 0 && !c.situation.Changes[0].Removes() {
				r.amend(e, fmt.Errorf("%s of this resource was undone in the same run, by %s: %s", c.Ref, text.List(effects), outOfSync(c.comparison)))
				return nil
			}
		}
		return nil
	})
}
