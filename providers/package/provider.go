package pkg

import (
	"context"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/package/apt"
	"github.com/fettle-dev/fettle/providers/package/dpkg"
)

// provider manages Debian packages with apt-get and dpkg.
type provider struct{ lock apt.Lock }

// Name implements [resource.Provider].
func (provider) Name() string { return "apt" }

// Needs implements [resource.Needing].
func (provider) Needs() resource.Needs {
	return resource.Needs{Commands: []string{"apt-get", "apt-cache", "dpkg"}, Remedy: "only Debian and its derivatives have them"}
}

// Suits implements [resource.Provider].
func (provider) Suits(resource.Facts, host.Reader) error { return nil }

// Defaults implements [resource.Defaulter].
func (provider) Defaults() resource.Defaults {
	return resource.Defaults{For: []resource.Where{{"os.family": {"Debian"}}}}
}

// Features implements [resource.Featured].
func (provider) Features() []resource.Feature {
	return []resource.Feature{
		installable, uninstallable, upgradeable, purgeable, versionable, versionRanges, reinstallable, virtualPackages,
		holdable, installOptions, uninstallOptions,
	}
}

// Read implements [resource.Provider].
func (p provider) Read(ctx context.Context, h resource.Reader, want Attributes) (Attributes, error) {
	result := p.ReadAll(ctx, h, []Attributes{want})[0]
	return result.State, result.Err
}

// ReadAll implements [resource.BatchReader].
func (provider) ReadAll(ctx context.Context, h resource.Reader, wants []Attributes) []resource.Result[Attributes] {
	db, err := dpkg.Read(h)
	if err != nil {
		return resource.Unreadable[Attributes](len(wants), err)
	}
	results := make([]resource.Result[Attributes], len(wants))
	for i, want := range wants {
		results[i].State = stateOf(db.Find(packageName(db, want)), want.Name)
	}
	findLatest(ctx, h, db, wants, results)
	return results
}

// List implements [resource.Lister]: all installed packages. The names of packages of a foreign
// architecture contain it.
func (provider) List(_ context.Context, h resource.Reader) ([]Attributes, error) {
	db, err := dpkg.Read(h)
	if err != nil {
		return nil, err
	}
	var all []Attributes
	for name, p := range db.Installed() {
		all = append(all, stateOf(p, name))
	}
	return all, nil
}

// Write implements [resource.Provider].
func (p provider) Write(ctx context.Context, h resource.Writer, is, want Attributes, changes []resource.Change) error {
	if w := (resource.Write[Attributes]{Is: is, Want: want, Changes: changes}); changesEnsure(w) {
		return p.WriteAll(ctx, h, []resource.Write[Attributes]{w})[0]
	}
	if is.found.damage != nil {
		return is.found.damage
	}
	selection := apt.SelectInstall
	if shouldHold(want, false) {
		selection = apt.SelectHold
	}
	db, err := dpkg.Read(h)
	if err == nil {
		err = p.tools(h).Select(ctx, selection, []string{packageName(db, want)})
	}
	if err != nil {
		return &resource.PropertyError{Property: "mark", Err: err}
	}
	return nil
}

// WriteAll implements [resource.BatchWriter]: one transaction for all, and smaller ones for the
// packages that fail in it.
func (p provider) WriteAll(ctx context.Context, h resource.Writer, writes []resource.Write[Attributes]) []error {
	b := &batch{tools: p.tools(h), reader: h, writes: writes, errs: make([]error, len(writes))}
	b.run(ctx)
	return b.errs
}

// Resume implements [resource.Resumer]. The package database is the result, so that there is no other.
func (p provider) Resume(ctx context.Context, h resource.Writer, _ Attributes) (is Attributes, ended *resource.Ended, err error) {
	return is, nil, p.tools(h).Await(ctx)
}

// Refresh implements [resource.Refresher]: it reinstalls an installed package if the resource requests
// it. The version stays, unless the source has another one by now.
func (p provider) Refresh(ctx context.Context, h resource.Writer, is, want Attributes) error {
	if !reinstalls(want) {
		return resource.ErrNothingToRefresh
	}
	writes := []resource.Write[Attributes]{{Is: is, Want: want}}
	b := &batch{tools: p.tools(h), reader: h, writes: writes, errs: make([]error, len(writes))}
	return b.reinstall(ctx)
}

// PrecheckRefresh implements [resource.RefreshPrechecker].
func (provider) PrecheckRefresh(_ context.Context, _ resource.Reader, w resource.Write[Attributes]) error {
	switch {
	case !reinstalls(w.Want):
		return resource.ErrNothingToRefresh
	case !exists(w.Is) && !changesEnsure(w):
		return &resource.ProvisionalError{Err: resource.ErrNothingToRefresh}
	}
	return nil
}

func reinstalls(want Attributes) bool {
	return ptr.Deref(want.ReinstallOnRefresh, false) && installing(want)
}

func (p provider) tools(h host.Host) apt.Tools { return apt.Tools{Host: h, Lock: p.lock} }

// Identify implements [resource.Identifier]: the name of a package of the native architecture may
// contain the architecture or not.
func (provider) Identify(_ context.Context, h resource.Reader, wants []Attributes) []string {
	identities := make([]string, len(wants))
	qualified := false
	for i, want := range wants {
		identities[i] = want.Name
		qualified = qualified || strings.Contains(want.Name, ":")
	}
	if !qualified {
		return identities
	}
	db, err := dpkg.Read(h)
	for i := range identities {
		if err != nil {
			identities[i] = "" // reading the resources reports the error
		} else {
			identities[i] = db.Canonical(identities[i])
		}
	}
	return identities
}

// Watch implements [resource.Watcher]: the installed packages and their selections. New versions
// are found at the next interval.
func (provider) Watch(host.Reader, Attributes) []string { return []string{dpkg.StatusFile} }
