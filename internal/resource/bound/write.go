package bound

import (
	"bytes"
	"context"
	"slices"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

func (b *bound[A]) Write(ctx context.Context, h resource.Writer, changes []resource.Change) error {
	b.state.written = new(b.state.is)
	return b.provider().Write(ctx, h, b.state.is, b.want, changes)
}

// write returns the part of the resource in a batch.
func (b *bound[A]) write(changes []resource.Change) resource.Write[A] {
	return resource.Write[A]{Is: b.state.is, Want: b.want, Changes: changes}
}

func (b *bound[A]) Planned(changes []resource.Change) any { return b.write(changes) }

func (b *bound[A]) Refresh(ctx context.Context, h resource.Writer) error {
	r, ok := b.provider().(resource.Refresher[A])
	if !ok {
		return resource.ErrNothingToRefresh
	}
	return r.Refresh(ctx, h, b.state.is, b.want)
}

func (b *bound[A]) PrecheckRefresh(ctx context.Context, h resource.Reader, changes []resource.Change) error {
	p, ok := b.provider().(resource.RefreshPrechecker[A])
	if !ok {
		return nil
	}
	return p.PrecheckRefresh(ctx, h, b.write(changes))
}

func (b *bound[A]) Resume(ctx context.Context, h resource.Writer) (*resource.Ended, error) {
	r, ok := b.provider().(resource.Resumer[A])
	if !ok {
		return nil, nil
	}
	is, ended, err := r.Resume(ctx, h, b.want)
	if ended != nil && err == nil {
		b.state.set(b.t, h, is)
	}
	return ended, err
}

func (b *bound[A]) Made(planned []resource.Change) []resource.Change {
	var made []resource.Change
	before := b.state.before()
	ensured := false // ensure was as it should be, so that a Write may have changed others, which were not compared
	for _, p := range b.t.Properties {
		i := slices.IndexFunc(planned, func(c resource.Change) bool { return c.Property == p.Name })
		switch {
		case i < 0 && !(ensured && p.Managed(b.want)):
		case b.state.isUnchanged(p):
			ensured = ensured || p.Name == resource.Ensure
		case i < 0:
			made = append(made, b.turnedOut(p, change(p, before, b.want, b.hides(p, before))))
		default:
			made = append(made, b.turnedOut(p, planned[i]))
		}
	}
	return made
}

// isUnchanged reports whether a property has the value that it had before the last Write.
func (s *state[A]) isUnchanged(p resource.Property[A]) bool {
	before := s.before()
	switch {
	case p.Same != nil:
		return p.Same(before, s.is)
	case p.Show(before) != p.Show(s.is), p.Token != nil && p.Token(before) != p.Token(s.is):
		return false
	}
	return bytes.Equal(encoded(before)[p.Name], encoded(s.is)[p.Name]) // what Show may hide
}

// turnedOut returns a planned change as it was made: the desired value may depend on the state, and what was unknown is
// known by now.
func (b *bound[A]) turnedOut(p resource.Property[A], c resource.Change) resource.Change {
	c.Unknown, c.Sensitive = "", c.Sensitive || b.hides(p, b.state.is)
	should := should(p, b.state.is, b.want)
	switch {
	case c.Sensitive:
		c.Is, c.Should, c.Diff = redact.Mark, redact.Mark, ""
	case should != c.Should:
		c.Should, c.Diff = should, ""
	}
	c.Message = message(c)
	return c
}
