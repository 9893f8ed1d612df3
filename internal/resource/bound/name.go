package bound

import (
	"fmt"

	"github.com/fettle-dev/fettle/internal/resource"
)

func (b *bound[A]) Identification() string {
	if b.t.Identification != nil {
		return b.t.Identification(b.want)
	}
	return fmt.Sprintf("%s %q", b.t.NamevarName, b.Namevar())
}

func (b *bound[A]) CanonicalName() string {
	if b.name != nil {
		return *b.name
	}
	name, _ := canonicalName(b.t, b.want)
	return name
}

func (b *bound[A]) Location() string {
	if b.t.Location == nil {
		return ""
	}
	return b.t.Location(b.want)
}

func (b *bound[A]) IsNamed() bool {
	if b.name != nil {
		return true
	}
	_, known := canonicalName(b.t, b.want)
	return known
}

// learnName takes the canonical name from a state that was read, or from what is known of it although the read failed.
func (b *bound[A]) learnName(is A) {
	if b.t.CanonicalName == nil {
		return
	}
	if name, known := b.t.CanonicalName(b.want, is); known {
		b.name = &name
	}
}

func (b *bound[A]) CanonicalOf(namevar string) string {
	var other A
	*b.t.Namevar(&other) = namevar
	normalize(b.t, &other)
	name, _ := canonicalName(b.t, other)
	return name
}

func (b *bound[A]) FormerName() string {
	if b.t.FormerName != nil {
		return b.t.FormerName(b.want)
	}
	return b.Namevar()
}

// canonicalName returns the canonical name of attributes as far as the type knows it without a host.
func canonicalName[A any](t *resource.Type[A], of A) (name string, known bool) {
	if t.CanonicalName == nil {
		return *t.Namevar(&of), true
	}
	var unread A
	return t.CanonicalName(of, unread)
}
