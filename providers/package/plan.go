package pkg

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/providers/package/apt"
	"github.com/fettle-dev/fettle/providers/package/debversion"
	"github.com/fettle-dev/fettle/providers/package/dpkg"
	"github.com/fettle-dev/fettle/providers/package/transaction"
)

// An unavailableError reports a package or version that the index lacks. A newer index may have it.
type unavailableError struct{ lack, remedy string }

func (e *unavailableError) Error() string { return e.lack + e.remedy }

// plan returns the order for a package, given the installed package and the available versions, or
// nil if it needs nothing.
func plan(want Attributes, name string, is dpkg.Package, available offer) (*transaction.Order, error) {
	state := stateOf(is, name)
	state.found.latest = available.Candidate
	if ensureInSync(state, want) {
		return nil, nil
	}
	o := &transaction.Order{Name: name, From: is.Version}
	if !installing(want) {
		o.Action = map[string]transaction.Action{resource.Absent: transaction.Remove, purged: transaction.Purge}[ensureOf(want)]
		o.Settings = settingsOf(want, append(removalOptions(is), want.UninstallOptions...))
		return o, nil
	}
	o.Action, o.Settings = transaction.Install, settingsOf(want, want.InstallOptions)
	o.Settings.Reinstall = is.Damage() != nil // otherwise apt-get treats a damaged package as installed
	target(o, ensureOf(want), available)
	return o, checkAvailable(ensureOf(want), o, available)
}

// removalOptions forces the removal of a damaged package, which dpkg wants reinstalled first.
func removalOptions(is dpkg.Package) []string {
	if is.Damage() == nil {
		return nil
	}
	return []string{"-o", "DPkg::Options::=--force-remove-reinstreq"}
}

// target sets the version to install: for a range, the newest available one.
func target(o *transaction.Order, ensure string, available offer) {
	switch {
	case available.file != "":
		o.Version, o.Pinned, o.File = available.Candidate, true, available.file
	case debversion.IsRange(ensure):
		o.Version, o.Pinned = resolve(ensure, available.Offer), true
	case ensure == latest:
		o.Version = available.Candidate
	case ensure != resource.Present:
		o.Version, o.Pinned = ensure, true
	}
}

func settingsOf(want Attributes, options []string) apt.Settings {
	s := apt.NewSettings(options, want.Environment)
	s.ReplaceConfigFiles = ptr.Deref(want.ConfigFiles, keep) == replace
	return s
}

// checkAvailable returns an error if apt-get must not be run with a package that it would not find, or
// would treat as an expression or an option.
func checkAvailable(ensure string, o *transaction.Order, available offer) error {
	switch {
	case !apt.IsName(o.Name):
		return fmt.Errorf("name %q is not a Debian package's: use letters, digits and +-. and perhaps :architecture", o.Name)
	case o.Pinned && !slices.Contains(available.Versions, o.Version) && len(available.Versions) > 0:
		return &unavailableError{
			lack:   fmt.Sprintf("version %q of package %q is not in apt's index", ensure, o.Name),
			remedy: fmt.Sprintf(", which has %s: ask for one of these, or add a source", text.List(available.Versions)),
		}
	case available.Candidate == "":
		return &unavailableError{
			lack:   fmt.Sprintf("package %q is not in apt's index", o.Name),
			remedy: ": check its name, or add a source that has it",
		}
	}
	return nil
}
