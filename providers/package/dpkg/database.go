// Package dpkg reads dpkg's database: which packages are installed, and in which state.
package dpkg

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// StatusFile has a paragraph for every package, and the journal has newer paragraphs that are
// not yet in it.
const (
	StatusFile = "/var/lib/dpkg/status"
	journalDir = "/var/lib/dpkg/updates"
)

// A key identifies a package: one name may be installed for several architectures.
type key struct{ name, arch string }

// A Database is dpkg's database at one moment. The zero value has no packages.
type Database struct {
	packages map[key]Package
	native   string // architecture
	journal  bool   // it had a journal, which an interrupted dpkg leaves
}

// Read reads all packages from dpkg's own files: dpkg-query would read the same, in a process
// in the host's namespaces for every question.
func Read(h host.Reader) (Database, error) {
	const tries = 3
	for range tries - 1 {
		before, errBefore := h.Stat(StatusFile)
		db, err := readOnce(h)
		after, errAfter := h.Stat(StatusFile)
		after.AccessTime = before.AccessTime // reading it changes that
		if err == nil && errors.Join(errBefore, errAfter) == nil && before == after {
			return db, nil // no dpkg merged its journal into the file meanwhile
		}
	}
	return readOnce(h)
}

func readOnce(h host.Reader) (Database, error) {
	db := Database{packages: map[key]Package{}}
	if err := parseFile(h, StatusFile, db.put); err != nil {
		return db, fmt.Errorf("cannot read dpkg's database: %w", err)
	}
	names, err := h.ReadDir(journalDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return db, fmt.Errorf("cannot read dpkg's journal: %w", err)
	}
	for _, name := range names { // sorted, which is their order
		if strings.Trim(name, "0123456789") != "" {
			continue // dpkg is still writing it
		}
		db.journal = true
		err := parseFile(h, path.Join(journalDir, name), db.replace)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return db, fmt.Errorf("cannot read dpkg's journal: %w", err)
		}
	}
	db.native = db.findNative()
	return db, nil
}

// findNative returns the architecture of the package dpkg, which is the one that dpkg calls
// native.
func (db Database) findNative() string {
	for k, p := range db.packages {
		if k.name == "dpkg" && p.State != notInstalled {
			return p.Arch
		}
	}
	return ""
}

func parseFile(h host.Reader, name string, add func(Package)) error {
	f, err := h.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return Parse(f, add)
}

func (db Database) put(p Package) { db.packages[key{p.Name, p.Arch}] = p }

// replace puts a newer paragraph instead of the old one. A package for all architectures is
// there once, so a change from or to that replaces the other.
func (db Database) replace(p Package) {
	maps.DeleteFunc(db.packages, func(k key, _ Package) bool {
		return k.name == p.Name && (k.arch == "all" || p.Arch == "all" || k.arch == "" || p.Arch == "")
	})
	db.put(p)
}

// Find returns a package by its name or name:architecture. A package unknown to dpkg is not
// installed. A package for all architectures counts as one for the native one.
func (db Database) Find(name string) Package {
	base, arch, foreign := strings.Cut(db.Canonical(name), ":")
	candidates := []key{{base, arch}}
	if !foreign {
		candidates = []key{{base, db.native}, {base, "all"}}
	}
	for _, k := range candidates {
		if p, ok := db.packages[k]; ok && p.State != notInstalled {
			return p
		}
	}
	return Package{Name: base, Arch: arch, State: notInstalled}
}

// Canonical returns a package's name as apt prints it: with its architecture only if that is
// foreign.
func (db Database) Canonical(name string) string {
	base, arch, _ := strings.Cut(name, ":")
	if arch == "" || arch == db.native || arch == "all" {
		return base
	}
	return name
}

func (db Database) canonical(k key) string { return db.Canonical(k.name + ":" + k.arch) }

// Installed returns all installed packages by their canonical names, in no order.
func (db Database) Installed() iter.Seq2[string, Package] {
	return func(yield func(string, Package) bool) {
		for k, p := range db.packages {
			if p.Installed() && !yield(db.canonical(k), p) {
				return
			}
		}
	}
}

// Providers returns the canonical names of the installed packages that provide a name, sorted.
func (db Database) Providers(name string) []string {
	var all []string
	for canonical, p := range db.Installed() {
		if provides(p.provides, name) {
			all = append(all, canonical)
		}
	}
	slices.Sort(all)
	return all
}

// provides reports whether a control file's Provides has a name, in whatever version.
func provides(relations, name string) bool {
	for relation := range strings.SplitSeq(relations, ",") {
		provided, _, _ := strings.Cut(strings.TrimSpace(relation), " ")
		if provided, _, _ = strings.Cut(provided, "("); strings.TrimSuffix(provided, ":any") == name {
			return true
		}
	}
	return false
}

// Interrupted reports whether a dpkg was interrupted, so that packages may wait to be
// configured.
func (db Database) Interrupted() bool {
	for _, p := range db.packages {
		switch p.State {
		case "unpacked", "half-configured", "triggers-awaited", "triggers-pending":
			return true
		}
	}
	return db.journal
}

// Damaged reports whether a package has to be reinstalled before apt-get does anything else.
func (db Database) Damaged() bool {
	for _, p := range db.packages {
		if p.Damage() != nil {
			return true
		}
	}
	return false
}

// A Change is the change of one package between two moments. A version of "" stands for a package that
// is not installed.
type Change struct{ Name, From, To string }

// Changes returns the packages that differ, sorted by name.
func Changes(before, after Database) []Change {
	var all []Change
	add := func(k key, from, to string) {
		if from != to {
			all = append(all, Change{after.canonical(k), from, to})
		}
	}
	for k, is := range after.packages {
		add(k, before.packages[k].versionOfFiles(), is.versionOfFiles())
	}
	for k, was := range before.packages {
		if _, still := after.packages[k]; !still {
			add(k, was.versionOfFiles(), "")
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return all
}
