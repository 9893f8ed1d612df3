package pkg

import (
	"context"
	"errors"

	"github.com/fettle-dev/fettle/internal/resource"
)

// release lets the packages go that are held and about to change. apt-get could be
// told to change held packages, but then it would change others too.
func (b *batch) release(ctx context.Context, orders []order) (released map[string]bool, err error) {
	released = map[string]bool{}
	var names []string
	for _, o := range orders {
		if b.db.find(o.name).held() {
			released[o.name] = true
			names = append(names, o.name)
		}
	}
	return released, b.selectPackages(ctx, "install", names)
}

// hold holds what should be held now that the packages are as they are: what the
// resource says, else what was held before.
func (b *batch) hold(ctx context.Context, released map[string]bool) {
	var names []string
	var places []int
	for i, w := range b.writes {
		name := b.db.actual(w.Want)
		is := b.db.find(name)
		if is.installed() && (released[name] || !is.held()) && shouldHold(w.Want, released[name]) {
			names, places = append(names, name), append(places, i)
		}
	}
	err := b.selectPackages(ctx, hold, names)
	if err == nil {
		return
	}
	for _, i := range places {
		b.errs[i] = errors.Join(b.errs[i], &resource.PropertyError{Property: "mark", Err: err})
	}
}

func shouldHold(want Attributes, before bool) bool {
	if want.Mark != nil {
		return *want.Mark == hold
	}
	return before
}
