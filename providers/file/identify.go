package file

import (
	"context"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/entry"
)

// Identify implements [resource.Identifier].
func (posix) Identify(_ context.Context, h resource.Reader, wants []Attributes) []string {
	all, identities := make([]string, len(wants)), entry.NewIdentities(h)
	for i, want := range wants {
		if follows(want) {
			all[i] = identities.OfTarget(want.Path)
			continue
		}
		all[i] = identities.Of(want.Path)
	}
	return all
}

// Watch implements [resource.Watcher]: the path, and a source on the host. Of a directory it
// watches only the first level, as there may be thousands below.
func (posix) Watch(_ host.Reader, want Attributes) []string {
	paths := append([]string{want.Path}, sourceFiles(want)...)
	if ptr.Deref(want.Recurse, false) || ptr.Deref(want.Purge, false) {
		for i, p := range paths {
			paths[i] = strings.TrimRight(p, "/") + "/"
		}
	}
	return paths
}
