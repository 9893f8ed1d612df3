package file

import (
	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// awaitFiles returns a [*resource.WaitError] if the purge of a directory has to wait for withheld Files that may manage something
// there. A single file elsewhere is spared anyway, whatever path leads to it.
func awaitFiles(h host.Reader, want Attributes, inventory resource.Inventory) error {
	if !ptr.Deref(want.Purge, false) {
		return nil
	}
	mayManage := func(w resource.Withheld) bool {
		return w.Reaches(want.Path) || w.IsTree() && host.ResolvesToAncestor(h, w.Path(), want.Path)
	}
	return resource.WaitFor("nothing is purged", inventory.Withheld("File"), mayManage, func(w resource.Withheld) string { return w.Files(want.Path) })
}

// withheldPaths returns the paths of withheld Files, as far as they are known. They are left alone, like paths that others manage.
func withheldPaths(inventory resource.Inventory) map[string]bool {
	all := map[string]bool{}
	for w := range inventory.Withheld("File") {
		if p := w.Path(); p != "" {
			all[p] = true
		}
	}
	return all
}
