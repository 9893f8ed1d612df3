package pkg

import (
	"context"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// apt manages Debian packages with apt-get and dpkg.
type apt struct {
	// lockTimeout is how long to wait for another process that manages packages, and
	// poll how often to look where the tool itself does not wait.
	lockTimeout, poll time.Duration
}

// newApt waits as long for others as an unattended upgrade may well take.
func newApt() apt { return apt{lockTimeout: 10 * time.Minute, poll: 2 * time.Second} }

// Name implements [resource.Provider].
func (apt) Name() string { return "apt" }

// Needs implements [resource.Needing].
func (apt) Needs() resource.Needs {
	return resource.Needs{Commands: []string{"apt-get", "apt-cache", "dpkg"}, Remedy: "only Debian and what derives from it have them"}
}

// Suits implements [resource.Provider].
func (apt) Suits(resource.Facts, host.Reader) error { return nil }

// Defaults implements [resource.Defaulter].
func (apt) Defaults() resource.Defaults {
	return resource.Defaults{For: []resource.Where{{"os.family": {"Debian"}}}}
}

// Features implements [resource.Featured].
func (apt) Features() []resource.Feature {
	return []resource.Feature{
		installable, uninstallable, upgradeable, purgeable, versionable, versionRanges, reinstallable, virtualPackages,
		holdable, installOptions, uninstallOptions,
	}
}

// Read implements [resource.Provider].
func (a apt) Read(ctx context.Context, h resource.Reader, want Attributes) (Attributes, error) {
	result := a.ReadAll(ctx, h, []Attributes{want})[0]
	return result.State, result.Err
}

// ReadAll implements [resource.BatchReader]. A damaged package is a state that is in sync
// with nothing, and writing mends it.
func (apt) ReadAll(ctx context.Context, h resource.Reader, wants []Attributes) []resource.Result[Attributes] {
	db, err := readDatabase(h)
	if err != nil {
		return resource.Unreadable[Attributes](len(wants), err)
	}
	results := make([]resource.Result[Attributes], len(wants))
	for i, want := range wants {
		results[i].State = db.find(db.actual(want)).attributes(want.Name)
	}
	findLatest(ctx, h, db, wants, results)
	return results
}

// List implements [resource.Lister]: all installed packages. Those of another than
// the native architecture have it in their name.
func (apt) List(_ context.Context, h resource.Reader) ([]Attributes, error) {
	db, err := readDatabase(h)
	if err != nil {
		return nil, err
	}
	var all []Attributes
	for k, r := range db.records {
		if r.installed() {
			all = append(all, r.attributes(db.canonical(k.name+":"+k.arch)))
		}
	}
	return all, nil
}

// Write implements [resource.Provider].
func (a apt) Write(ctx context.Context, h resource.Writer, is, want Attributes, changes []resource.Change) error {
	ensure := slices.ContainsFunc(changes, func(c resource.Change) bool { return c.Property == resource.Ensure })
	if ensure {
		return a.WriteAll(ctx, h, []resource.Write[Attributes]{{Is: is, Want: want, Changes: changes}})[0]
	}
	if is.found.damage != nil {
		return is.found.damage
	}
	selection := "install"
	if shouldHold(want, false) {
		selection = hold
	}
	db, err := readDatabase(h)
	if err == nil {
		err = a.tools(h).selectPackages(ctx, selection, []string{db.actual(want)})
	}
	if err != nil {
		return &resource.PropertyError{Property: "mark", Err: err}
	}
	return nil
}

// WriteAll implements [resource.BatchWriter]: one transaction for all, and smaller
// ones for what fails in it.
func (a apt) WriteAll(ctx context.Context, h resource.Writer, writes []resource.Write[Attributes]) []error {
	b := &batch{tools: a.tools(h), look: h, writes: writes, errs: make([]error, len(writes))}
	b.run(ctx)
	return b.errs
}

func (a apt) tools(h host.Host) tools {
	return tools{h: h, lockTimeout: a.lockTimeout, poll: a.poll}
}
