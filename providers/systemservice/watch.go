package systemservice

import (
	"path"

	"github.com/fettle-dev/fettle/internal/host"
)

// Watch implements [resource.Watcher]. The control group of a service is created and removed when it
// starts and ends; links enable and mask it.
func (systemd) Watch(_ host.Reader, want attributes) []string {
	unit := unitName(want.Name)
	return append(links(unit),
		path.Join("/sys/fs/cgroup/system.slice", unit),
		path.Join("/sys/fs/cgroup/systemd/system.slice", unit)) // of version 1
}

// Watch implements [resource.Watcher].
func (offline) Watch(_ host.Reader, want attributes) []string { return links(unitName(want.Name)) }

// links returns the usual places of a unit's links.
func links(unit string) []string {
	const dir = "/etc/systemd/system"
	return []string{path.Join(dir, unit), path.Join(dir, "multi-user.target.wants", unit)}
}
