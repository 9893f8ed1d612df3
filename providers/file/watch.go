package file

import (
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// Watch implements [resource.Watcher]: the path, and a source on the host. Of a whole
// directory that is the first level; there may be thousands below.
func (posix) Watch(_ host.Reader, want Attributes) []string {
	places := []string{want.Path}
	places = append(places, fromHost(want)...)
	if recurses(want) || purges(want) {
		for i, p := range places {
			places[i] = strings.TrimRight(p, "/") + "/"
		}
	}
	return places
}
