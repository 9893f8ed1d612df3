package linux

import (
	"fmt"
	"os"
	"path"
	"strconv"
)

// CheckProcess returns an error unless a process runs on another host than this one, as process 1 does for a container
// in a pod with hostPID. Without hostPID, process 1 belongs to the container, or to another container of its pod.
func CheckProcess(pid int) error {
	dir := path.Join("/proc", strconv.Itoa(pid))
	own, err := sameMounts(dir)
	if err != nil {
		return fmt.Errorf("cannot find the host of process %d: %w", pid, err)
	}
	const remedy = "in a pod, set hostPID: true; on the host itself, omit --host-pid and FETTLE_HOST_PID"
	if own {
		return fmt.Errorf("process %d runs in this container or on this machine, so it does not lead to another host: %s", pid, remedy)
	}
	// A pause container, which is process 1 if a pod shares its process namespace, has nothing but itself.
	if info, err := os.Stat(path.Join(dir, "root/usr")); err != nil || !info.IsDir() {
		return fmt.Errorf("process %d does not run on a host: its root has no directory /usr: %s", pid, remedy)
	}
	return nil
}

// sameMounts reports whether a process has the root directory and the mounts of this one.
func sameMounts(dir string) (bool, error) {
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return false, err
	}
	other, err := os.Readlink(path.Join(dir, "ns/mnt"))
	if err != nil || own != other {
		return false, err
	}
	here, err := os.Stat("/")
	if err != nil {
		return false, err
	}
	there, err := os.Stat(path.Join(dir, "root"))
	if err != nil {
		return false, err
	}
	return os.SameFile(here, there), nil
}
