package debian

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// overlay puts a writable tree over read-only ones, the topmost first, at dir/root. What is written goes to dir/upper.
// Where the kernel refuses an overlay the tree is a copy: slower, the same to a test.
func overlay(lower []string, dir string) (root string, err error) {
	root, upper, work := filepath.Join(dir, "root"), filepath.Join(dir, "upper"), filepath.Join(dir, "work")
	for _, d := range []string{root, upper, work} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return "", err
		}
	}
	options := "lowerdir=" + strings.Join(lower, ":") + ",upperdir=" + upper + ",workdir=" + work
	// Nobody needs these trees after a power cut; without fsync package operations take a tenth of the time.
	if unix.Mount("overlay", root, "overlay", 0, options+",volatile") == nil ||
		unix.Mount("overlay", root, "overlay", 0, options) == nil {
		return root, nil
	}
	for _, layer := range slices.Backward(lower) {
		if out, err := exec.Command("cp", "--archive", "--reflink=auto", layer+"/.", root).CombinedOutput(); err != nil {
			return "", fmt.Errorf("cannot copy %s: %w: %s", layer, err, out)
		}
	}
	return root, nil
}

// A mount is one file system that a chroot needs.
type mount struct {
	at, fstype string
	flags      uintptr
	data       string
}

// kernelFileSystems are what a chroot needs of the kernel, in the order to mount them. What would show or change the
// state of the machine itself is read-only.
func kernelFileSystems() []mount {
	const readOnly = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	return []mount{
		{at: "proc", fstype: "proc", flags: readOnly},
		{at: "sys", fstype: "sysfs", flags: readOnly},
		{at: "dev", fstype: "tmpfs", flags: unix.MS_NOSUID, data: "mode=0755,size=64k"},
		{at: "dev/pts", fstype: "devpts", flags: unix.MS_NOSUID | unix.MS_NOEXEC, data: "newinstance,ptmxmode=0666,mode=0620"},
		{at: "dev/shm", fstype: "tmpfs", flags: unix.MS_NOSUID | unix.MS_NODEV, data: "mode=1777,size=16m"},
	}
}

// mountKernel gives a chroot its /proc, /sys and /dev.
func mountKernel(root string) error {
	for _, m := range kernelFileSystems() {
		at := filepath.Join(root, m.at)
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.fstype, at, m.fstype, m.flags, m.data); err != nil {
			return fmt.Errorf("cannot mount %s on %s: %w", m.fstype, at, err)
		}
	}
	return makeNodes(filepath.Join(root, "dev"))
}

func makeNodes(dev string) error {
	for name, minor := range map[string]uint32{"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9} {
		path := filepath.Join(dev, name)
		if err := unix.Mknod(path, unix.S_IFCHR, int(unix.Mkdev(1, minor))); err != nil {
			return fmt.Errorf("cannot make the device %s: %w", path, err)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
		"ptmx": "pts/ptmx",
	} {
		if err := os.Symlink(target, filepath.Join(dev, name)); err != nil {
			return err
		}
	}
	return nil
}

// detachUnder unmounts everything at or under a directory, the deepest first. A mount that is in use disappears from
// the tree at once and ends with its last user.
func detachUnder(dir string) error {
	points, err := mountsUnder(dir)
	if err != nil {
		return err
	}
	for _, point := range slices.Backward(points) {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("cannot unmount %s: %w", point, err)
		}
	}
	return nil
}

// mountsUnder lists the mount points at or under a directory in the order of their mounting.
func mountsUnder(dir string) ([]string, error) {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var points []string
	for line := range strings.Lines(string(info)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		point := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`).Replace(fields[4])
		if point == dir || strings.HasPrefix(point, dir+"/") {
			points = append(points, point)
		}
	}
	return points, nil
}
