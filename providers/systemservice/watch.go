package systemservice

import (
	"path"

	"github.com/fettle-dev/fettle/internal/host"
)

// Watch implements [resource.Watcher]. A service of systemd that starts or ends gets or
// loses its control group; whether it is enabled or masked is links.
func (systemd) Watch(_ host.Reader, want attributes) []string {
	unit := unitName(want.Name)
	return append(links(unit),
		path.Join("/sys/fs/cgroup/system.slice", unit),
		path.Join("/sys/fs/cgroup/systemd/system.slice", unit)) // of version 1
}

// Watch implements [resource.Watcher].
func (offline) Watch(_ host.Reader, want attributes) []string { return links(unitName(want.Name)) }

// links are where those of a unit mostly are.
func links(unit string) []string {
	const dir = "/etc/systemd/system"
	return []string{path.Join(dir, unit), path.Join(dir, "multi-user.target.wants", unit)}
}
