package pkg

import (
	"context"
	"fmt"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/providers/package/apt"
	"github.com/fettle-dev/fettle/providers/package/dpkg"
)

// packageName returns the canonical name of the package that a resource manages. If the resource
// may name a virtual package, and no package of that name is installed, it is an installed one
// that provides it.
func packageName(db dpkg.Database, want Attributes) string {
	name := db.Canonical(want.Name)
	if !allowsVirtual(want) || db.Find(name).Installed() {
		return name
	}
	if providers := db.Providers(name); len(providers) > 0 {
		return providers[0]
	}
	return name
}

func allowsVirtual(want Attributes) bool { return ptr.Deref(want.AllowVirtual, false) }

// An offer has the versions of a package that can be installed.
type offer struct {
	apt.Offer
	file string // of the source; "" if the offer comes from apt's index
}

// choose returns the canonical name of the package that a resource manages, and its available
// versions.
func (b *batch) choose(ctx context.Context, want Attributes, offers map[string]apt.Offer) (string, offer, error) {
	if installing(want) && want.Source != nil {
		available, err := b.offerSource(ctx, want)
		return b.db.Canonical(want.Name), available, err
	}
	name := packageName(b.db, want)
	if !installing(want) {
		return name, offer{}, b.ambiguous(want, name)
	}
	available := offers[name]
	switch providers := available.Providers; {
	case len(providers) == 0:
		return name, offer{Offer: available}, nil
	case !allowsVirtual(want):
		return "", offer{}, fmt.Errorf("name %q is a virtual package: name one of its providers %s, or set allowVirtual", name, text.List(providers))
	case len(providers) > 1:
		return "", offer{}, fmt.Errorf("name %q is a virtual package with several providers: name one of %s", name, text.List(providers))
	default:
		return providers[0], offer{Offer: offers[providers[0]]}, nil
	}
}

// ambiguous returns the error of a virtual package to be removed that has several installed providers.
func (b *batch) ambiguous(want Attributes, name string) error {
	if name == b.db.Canonical(want.Name) {
		return nil
	}
	if all := b.db.Providers(want.Name); len(all) > 1 {
		return fmt.Errorf("name %q is a virtual package with several providers: name the one to remove, %s", want.Name, text.List(all))
	}
	return nil
}

// offerSource offers the package file of the source and nothing else.
func (b *batch) offerSource(ctx context.Context, want Attributes) (offer, error) {
	p, err := readSource(ctx, b.reader, b.db, want)
	if err != nil {
		return offer{}, err
	}
	if !allows(want, p.Version) {
		return offer{}, fmt.Errorf("source %q is version %q of the package, which ensure %q does not allow: correct source or ensure",
			*want.Source, p.Version, ensureOf(want))
	}
	return offer{apt.Offer{Candidate: p.Version, Versions: []string{p.Version}}, *want.Source}, nil
}
