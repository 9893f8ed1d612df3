package bound

import (
	"fmt"

	"github.com/fettle-dev/fettle/internal/resource"
)

func (d *desired[A]) Namevar() string { return *d.t.Namevar(&d.want) }

func (d *desired[A]) Identification() string {
	if d.t.Identification != nil {
		return d.t.Identification(d.want)
	}
	return fmt.Sprintf("%s %q", d.t.NamevarName, d.Namevar())
}

func (d *desired[A]) FormerName() string {
	if d.t.FormerName != nil {
		return d.t.FormerName(d.want)
	}
	return d.Namevar()
}

func (d *desired[A]) Location() string {
	if d.t.Location == nil {
		return ""
	}
	return d.t.Location(d.want)
}

func (b *bound[A]) CanonicalName() string {
	name, _ := b.canonicalName()
	return name
}

func (b *bound[A]) IsNamed() bool {
	_, known := b.canonicalName()
	return known
}

func (b *bound[A]) canonicalName() (name string, known bool) {
	if b.state.name != nil {
		return *b.state.name, true
	}
	return canonicalName(b.t, &b.want)
}

func (b *bound[A]) Keys() []string {
	keys := []string{b.CanonicalName()}
	if spelled := b.Namevar(); spelled != keys[0] {
		keys = append(keys, spelled)
	}
	if b.t.Keys != nil {
		keys = append(keys, b.t.Keys(b.want)...)
	}
	return keys
}

func (k kind[A]) CanonicalName(namevar string) string {
	var other A
	*k.t.Namevar(&other) = namevar
	normalize(k.t, &other)
	name, _ := canonicalName(k.t, &other)
	return name
}

// canonicalName returns the canonical name of attributes as far as the type knows it without a host. It gets no copy of them,
// because they may be large and a run asks several times.
func canonicalName[A any](t *resource.Type[A], of *A) (name string, known bool) {
	if t.CanonicalName == nil {
		return *t.Namevar(of), true
	}
	var unread A
	return t.CanonicalName(*of, unread)
}
