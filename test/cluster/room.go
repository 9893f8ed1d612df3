package cluster

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// watchers is how many inotify instances a cluster of three nodes uses at most, with Fettle: 13 on each node, most of them of
// systemd and the kubelet, and 6 in the control plane. Of all processes of a user, the kernel grants 128 by default.
const watchers = 50

// Room returns for how many more clusters the kernel grants inotify instances, at most limit.
func Room(limit int) int {
	var open []int
	defer func() {
		for _, fd := range open {
			_ = unix.Close(fd) // nothing was written to it
		}
	}()
	for range limit * watchers {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			break
		}
		open = append(open, fd)
	}
	return len(open) / watchers
}

// checkRoom fails early and with a reason where a machine would not finish its boot.
func checkRoom() error {
	if Room(1) == 0 {
		return fmt.Errorf("it needs %d inotify instances, of which the kernel grants too few: end another cluster, or raise fs.inotify.max_user_instances with sysctl", watchers)
	}
	return nil
}
