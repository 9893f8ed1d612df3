package tidy

import (
	"path"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// awaitFiles returns a [*resource.WaitError] if Files are withheld that may manage what would be removed.
func awaitFiles(h host.Reader, want Attributes, inventory resource.Inventory) error {
	return resource.WaitFor("skipped", inventory.Withheld("File"), func(w resource.Withheld) bool { return mayOverlap(h, want, w) },
		func(w resource.Withheld) string { return w.Files(want.Path) })
}

// mayOverlap reports whether a withheld File may manage something that would be removed. A single file outside of the path is spared
// anyway, whatever path leads to it.
func mayOverlap(h host.Reader, want Attributes, w resource.Withheld) bool {
	switch p := w.Path(); {
	case p == "":
		return true
	case w.IsTree():
		return w.Reaches(want.Path) || host.ResolvesToAncestor(h, p, want.Path)
	case !ptr.Deref(want.Recurse, false):
		return p == want.Path
	default:
		return w.Reaches(want.Path) && matches(want.Matches, path.Base(p)) && !isDeeper(p, want)
	}
}

// isDeeper reports whether a path below a Tidy is deeper than the Tidy descends.
func isDeeper(p string, want Attributes) bool {
	below := strings.Trim(strings.TrimPrefix(p, want.Path), "/")
	return want.RecurseLimit != nil && below != "" && strings.Count(below, "/") >= int(*want.RecurseLimit)
}
