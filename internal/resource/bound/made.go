package bound

import (
	"bytes"
	"slices"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

func (b *bound[A]) Made(planned []resource.Change) []resource.Change {
	var made []resource.Change
	ensured := false // ensure was as it should be, so that a Write may have changed others, which were not compared
	for _, p := range b.t.Properties {
		i := slices.IndexFunc(planned, func(c resource.Change) bool { return c.Property == p.Name })
		switch {
		case i < 0 && !(ensured && p.Managed(b.want)):
		case b.isAsBefore(p):
			ensured = ensured || p.Name == resource.Ensure
		case i < 0:
			made = append(made, b.turnedOut(p, change(p, b.was, b.want, b.hides(p, b.was))))
		default:
			made = append(made, b.turnedOut(p, planned[i]))
		}
	}
	return made
}

// isAsBefore reports whether a property has the value that it had before the last Write.
func (b *bound[A]) isAsBefore(p resource.Property[A]) bool {
	switch {
	case p.Same != nil:
		return p.Same(b.was, b.is)
	case p.Show(b.was) != p.Show(b.is), p.Token != nil && p.Token(b.was) != p.Token(b.is):
		return false
	}
	return bytes.Equal(encoded(b.was)[p.Name], encoded(b.is)[p.Name]) // what Show may hide
}

// turnedOut returns a planned change as it was made: the desired value may depend on the state, and what was unknown is
// known by now.
func (b *bound[A]) turnedOut(p resource.Property[A], c resource.Change) resource.Change {
	c.Unknown, c.Sensitive = "", c.Sensitive || b.hides(p, b.is)
	should := should(p, b.is, b.want)
	switch {
	case c.Sensitive:
		c.Is, c.Should, c.Diff = redact.Mark, redact.Mark, ""
	case should != c.Should:
		c.Should, c.Diff = should, ""
	}
	c.Message = message(c)
	return c
}
