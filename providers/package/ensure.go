package pkg

import (
	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/package/debversion"
)

// ensureProperty is read as the installed version, absent, purged, damaged, or the state in which
// dpkg was interrupted: half-installed, unpacked or half-configured.
func ensureProperty() resource.Property[Attributes] {
	return resource.Property[Attributes]{
		Name:         resource.Ensure,
		Doc:          "present (or installed), latest, absent, purged (configuration too), a version, or a range of versions such as >=1.0 <2.0; present by default.",
		ValueFeature: ensureFeature,
		Managed:      func(want Attributes) bool { return want.Ensure != nil },
		InSync:       ensureInSync,
		Unknown:      ensureUnknown,
		Show:         ensureOf,
		ShowShould:   ensureShould,
	}
}

// ensureOf returns the value of ensure, or "".
func ensureOf(a Attributes) string { return ptr.Deref(a.Ensure, "") }

func exists(a Attributes) bool {
	return ensureOf(a) != resource.Absent && ensureOf(a) != purged
}

// installing reports whether the package is to be installed.
func installing(want Attributes) bool { return exists(want) }

func ensureFeature(want Attributes) resource.Feature {
	if debversion.IsRange(ensureOf(want)) {
		return versionRanges
	}
	switch ensureOf(want) {
	case resource.Present:
		return installable
	case latest:
		return upgradeable
	case resource.Absent:
		return uninstallable
	case purged:
		return purgeable
	default:
		return versionable
	}
}

func ensureInSync(is, want Attributes) bool {
	if is.found.damage != nil || is.found.unfinished {
		return false
	}
	switch ensureOf(want) {
	case resource.Present:
		return exists(is)
	case latest:
		return exists(is) && isLatest(is)
	case resource.Absent:
		return !exists(is)
	case purged: // more than absent
		return ensureOf(is) == purged
	default:
		return exists(is) && allows(want, ensureOf(is))
	}
}

// allows reports whether ensure allows a version.
func allows(want Attributes, version string) bool {
	switch ensure := ensureOf(want); {
	case debversion.IsRange(ensure):
		versions, err := debversion.ParseRange(ensure)
		return err == nil && versions.Has(version)
	case ensure == resource.Present || ensure == latest:
		return true
	default:
		return version == ensure
	}
}

// isLatest treats the installed version as the latest if no other is known. An index that is older
// than its sources proves nothing.
func isLatest(is Attributes) bool {
	known := is.found.latest
	return is.found.stale == "" && (known == "" || known == ensureOf(is))
}

// ensureUnknown returns why nobody can tell by reading whether an installed package is the latest.
func ensureUnknown(is, want Attributes) string {
	if ensureOf(want) != latest || !exists(is) || is.found.damage != nil || is.found.unfinished {
		return ""
	}
	return is.found.stale
}

// ensureShould shows latest and ranges as the version that they resolve to, or have resolved to, if that is known.
func ensureShould(is, want Attributes) string {
	known := is.found.latest
	switch {
	case isResolved(want) && ensureInSync(is, want):
		return ensureOf(is)
	case known == "" || known == ensureOf(is) || ensureUnknown(is, want) != "":
		return ensureOf(want)
	}
	return known
}

// isResolved reports whether ensure stands for a version that others determine.
func isResolved(want Attributes) bool {
	return ensureOf(want) == latest || debversion.IsRange(ensureOf(want))
}
