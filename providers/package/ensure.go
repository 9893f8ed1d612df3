package pkg

import "github.com/fettle-dev/fettle/internal/resource"

// ensureProperty is read as the installed version, absent, purged or damaged.
func ensureProperty() resource.Property[Attributes] {
	return resource.Property[Attributes]{
		Name:         resource.Ensure,
		Doc:          "present (or installed), latest, absent, purged (configuration too), or the version to have; present by default.",
		ValueFeature: ensureFeature,
		Managed:      func(want Attributes) bool { return want.Ensure != nil },
		InSync:       ensureInSync,
		Show:         ensureOf,
		ShowShould:   ensureShould,
	}
}

// ensureOf is the value of ensure, "" where there is none.
func ensureOf(a Attributes) string {
	if a.Ensure == nil {
		return ""
	}
	return *a.Ensure
}

func exists(is Attributes) bool {
	return ensureOf(is) != resource.Absent && ensureOf(is) != purged
}

func ensureFeature(want Attributes) resource.Feature {
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
	if is.found.damage != nil {
		return false
	}
	switch ensureOf(want) {
	case resource.Present:
		return exists(is)
	case latest:
		return exists(is) && isLatest(is)
	case resource.Absent:
		return !exists(is)
	default: // purged is more than absent, and a version is that version
		return ensureOf(is) == ensureOf(want)
	}
}

// isLatest takes the present version for the latest where the tool knows no other.
// An index that is older than its sources proves nothing.
func isLatest(is Attributes) bool {
	known := is.found.latest
	return !is.found.stale && (known == "" || known == ensureOf(is))
}

// ensureShould shows latest as the version that it comes to, where that is known.
func ensureShould(is, want Attributes) string {
	known := is.found.latest
	if ensureOf(want) != latest || known == "" || known == ensureOf(is) {
		return ensureOf(want)
	}
	return known
}
