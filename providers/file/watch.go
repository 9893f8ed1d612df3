package file

import "strings"

// Watch implements [resource.Watcher]: the path, and a source on the host.
func (posix) Watch(want Attributes) []string {
	paths := []string{want.Path}
	if want.Source != nil && strings.HasPrefix(*want.Source, "/") {
		paths = append(paths, *want.Source)
	}
	return paths
}
