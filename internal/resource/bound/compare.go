package bound

import (
	"cmp"
	"fmt"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

func (b *bound[A]) Compare() resource.Comparison {
	is := b.state.is
	c := resource.Comparison{Exists: exists(b.t, is), Observed: map[string]string{}}
	for _, p := range b.t.Properties {
		if !p.Managed(b.want) {
			continue
		}
		hidden := b.hides(p, is)
		if !hidden && !b.t.Imperative {
			c.Observed[p.Name] = p.Show(is)
		}
		if p.Name != resource.Ensure && !c.Exists || p.InSync(is, b.want) {
			continue
		}
		c.Changes = append(c.Changes, change(p, is, b.want, hidden))
		if p.Name == resource.Ensure && c.Changes[0].Unknown == "" {
			break
		}
	}
	return c
}

// change builds the Change of a property that is out of sync; hidden redacts its values.
func change[A any](p resource.Property[A], is, want A, hidden bool) resource.Change {
	c := resource.Change{
		Property:           p.Name,
		Is:                 p.Show(is),
		Should:             should(p, is, want),
		Sensitive:          hidden,
		Done:               p.Done,
		Pending:            p.Pending,
		Failed:             p.Failed,
		InvalidatesRefresh: p.InvalidatesRefresh != nil && p.InvalidatesRefresh(want),
	}
	if p.Unknown != nil {
		c.Unknown = p.Unknown(is, want)
	}
	if p.Detail != nil {
		c.Detail = p.Detail(is, want)
	}
	switch {
	case c.Sensitive:
		c.Is, c.Should = redact.Mark, redact.Mark
	case p.Diff != nil:
		c.Diff = p.Diff(is, want)
	}
	c.Message = message(c)
	return c
}

func should[A any](p resource.Property[A], is, want A) string {
	if p.ShowShould != nil {
		return p.ShowShould(is, want)
	}
	return p.Show(want)
}

func isSensitive[A any](p resource.Property[A], want A) bool {
	return p.Sensitive != nil && p.Sensitive(want)
}

// isHidden reports whether the current or the desired value must not be shown.
func isHidden[A any](p resource.Property[A], is, want A) bool {
	return isSensitive(p, want) || p.WasSecret != nil && p.WasSecret(is)
}

// message describes a change in Puppet's words, with its detail.
func message(c resource.Change) string {
	if c.Detail == "" {
		return valuesMessage(c)
	}
	return valuesMessage(c) + ", " + c.Detail
}

func valuesMessage(c resource.Change) string {
	switch {
	case c.Unknown != "":
		return c.Property + " may change from " + cmp.Or(c.Is, resource.Absent)
	case c.Property == resource.Ensure:
		return ensureMessage(c)
	case c.Sensitive:
		return "changed " + c.Property
	case c.Is == "":
		return fmt.Sprintf("%s defined as %s", c.Property, c.Should)
	case c.Should == "":
		return fmt.Sprintf("%s undefined from %s", c.Property, c.Is)
	}
	return fmt.Sprintf("%s changed %s to %s", c.Property, c.Is, c.Should)
}

func ensureMessage(c resource.Change) string {
	switch {
	case c.Should == resource.Absent:
		return "removed"
	case c.Should == resource.Purged:
		return "purged"
	case c.Creates():
		return "created"
	}
	return fmt.Sprintf("ensure changed %s to %s", c.Is, c.Should)
}
