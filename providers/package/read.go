package pkg

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/providers/package/apt"
	"github.com/fettle-dev/fettle/providers/package/debversion"
	"github.com/fettle-dev/fettle/providers/package/dpkg"
)

// stateOf returns the state of a package by the name of its resource.
func stateOf(p dpkg.Package, name string) Attributes {
	var a Attributes
	a.Name = name
	a.Ensure = new(ensureFrom(p))
	a.Mark = new(none)
	if p.Held() && p.Installed() { // a missing package is not held, regardless of dpkg's selection
		a.Mark = new(hold)
	}
	a.found.damage = p.Damage()
	a.found.unfinished = p.Unfinished()
	return a
}

func ensureFrom(p dpkg.Package) string {
	switch {
	case p.Damage() != nil:
		return damaged
	case p.Installed():
		return p.Version
	case p.Unfinished():
		return p.State
	case p.Purged():
		return purged
	default:
		return resource.Absent
	}
}

// findLatest looks up the versions that latest and ranges resolve to now. A version that is in its
// range does not require the index.
func findLatest(ctx context.Context, h host.Reader, db dpkg.Database, wants []Attributes, results []resource.Result[Attributes]) {
	var indexed []int // those that need apt's index
	for i, want := range wants {
		switch {
		case ensureOf(want) != latest && (!debversion.IsRange(ensureOf(want)) || ensureInSync(results[i].State, want)):
		case want.Source == nil:
			indexed = append(indexed, i)
		default:
			p, err := readSource(ctx, h, db, want)
			results[i].State.found.latest = p.Version
			if err != nil { // which fails the write
				results[i].State.found.stale = text.Error(err)
			}
		}
	}
	if err := findIndexed(ctx, h, db, wants, results, indexed); err != nil {
		for _, i := range indexed {
			results[i].Err = err
		}
	}
}

func findIndexed(ctx context.Context, h host.Reader, db dpkg.Database, wants []Attributes, results []resource.Result[Attributes], indexed []int) error {
	if len(indexed) == 0 {
		return nil
	}
	var names []string
	for _, i := range indexed {
		names = append(names, packageName(db, wants[i]))
	}
	offers, err := apt.Policy(ctx, h, names)
	if err != nil {
		return err
	}
	newer, err := apt.NewerThanIndex(h)
	if err != nil {
		return fmt.Errorf("cannot find out how old apt's index is: %w", err)
	}
	for _, i := range indexed {
		results[i].State.found.latest = resolve(ensureOf(wants[i]), offers[packageName(db, wants[i])])
		results[i].State.found.stale = outdated(newer)
	}
	return nil
}

// outdated says that apt's index is older than a source; "" if that is "".
func outdated(newerSource string) string {
	if newerSource == "" {
		return ""
	}
	return fmt.Sprintf("apt's index is older than %s, and an apply updates it first", newerSource)
}

// resolve returns the version that latest or a range resolves to, "" for none.
func resolve(ensure string, offer apt.Offer) string {
	if !debversion.IsRange(ensure) {
		return offer.Candidate
	}
	versions, _ := debversion.ParseRange(ensure) // it was validated
	return versions.Newest(offer.Versions)
}

// readSource reads the package file of a source. The file of another package is an error. Both are about a File that may be
// written first.
func readSource(ctx context.Context, h host.Reader, db dpkg.Database, want Attributes) (dpkg.Package, error) {
	info, err := h.Stat(*want.Source)
	if err == nil && !info.IsRegular() {
		return dpkg.Package{}, fmt.Errorf("source %q is not a regular file: use the path of a package file", *want.Source) // dpkg-deb would wait for a FIFO
	}
	p, err := apt.ReadFile(ctx, h, *want.Source)
	if err != nil {
		err = fmt.Errorf("cannot read source %q: %w", *want.Source, err)
	} else if is, should := db.Canonical(p.Name+":"+p.Arch), db.Canonical(want.Name); is != should {
		err = fmt.Errorf("source %q is the package %q, not %q: correct source or name", *want.Source, is, should)
	}
	if err != nil {
		return p, &resource.MissingError{Kind: "File", Name: *want.Source, Err: err}
	}
	return p, nil
}
