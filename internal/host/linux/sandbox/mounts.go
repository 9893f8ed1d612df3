package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// mountTree makes the namespaces of the calling thread, except the pid namespace, and enters a read-only copy of the
// host's tree.
func mountTree(o Options) error {
	tree, err := cloneTree(o.Root)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(tree) }()
	if err := unix.Unshare(namespaces(o)); err != nil {
		return fmt.Errorf("cannot create namespaces: %w", err)
	}
	// Otherwise the mounts below would appear on the host too.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot separate mounts from those of the host, whose root must be a mount point: %w", err)
	}
	if err := enterTree(tree); err != nil {
		return err
	}
	kept, err := openKept(o)
	defer kept.close()
	if err != nil {
		return err
	}
	return errors.Join(hideDirectories(o), kept.mount(), sealDirectories(o))
}

// namespaces returns the namespaces that the command gets of its own, except the pid namespace.
func namespaces(o Options) int {
	flags := unix.CLONE_NEWNS | unix.CLONE_NEWUTS
	if o.Services {
		return flags
	}
	if !o.Network {
		flags |= unix.CLONE_NEWNET
	}
	return flags | unix.CLONE_NEWIPC
}

// cloneTree copies the host's mounts. Device nodes don't work in the copy: writing to a device does not need a
// writable file system.
func cloneTree(root int) (int, error) {
	tree, err := unix.OpenTree(root, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("cannot copy the mounts of the host: %w", err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOSUID, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return -1, errors.Join(fmt.Errorf("cannot make mounts read-only: %w", err), unix.Close(tree))
	}
	return tree, nil
}

// enterTree mounts the tree on /proc and makes it the root. It is not mounted on /, because the kernel lets no process
// create a user namespace whose root differs from the root of its mount namespace.
func enterTree(tree int) error {
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, "/proc", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("cannot mount the copy of the host's tree: %w", err)
	}
	if err := unix.Fchdir(tree); err != nil {
		return fmt.Errorf("cannot enter the copy of the host's tree: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("cannot enter the copy of the host's tree: %w", err)
	}
	return nil
}

// Sizes of each writable directory, in memory.
const (
	scratch = "mode=1777,size=64m,nr_inodes=16k"
	small   = "mode=755,size=1m,nr_inodes=1k"
)

// hideDirectories mounts empty directories over those that have the sockets, pipes and devices of the host, those that
// everyone can write to, and those of the kernel whose files change when they are read. It skips missing ones, and /run with
// Services.
func hideDirectories(o Options) error {
	for _, m := range []struct {
		path, options string
		flags         uintptr
	}{
		{"/tmp", scratch, unix.MS_NODEV | unix.MS_NOSUID},
		{"/var/tmp", scratch, unix.MS_NODEV | unix.MS_NOSUID},
		{"/run", small, unix.MS_NODEV | unix.MS_NOSUID | unix.MS_NOEXEC},
		{"/dev", small, unix.MS_NOSUID | unix.MS_NOEXEC},
		{"/sys/kernel/debug", small, unix.MS_NODEV | unix.MS_NOSUID | unix.MS_NOEXEC},
		{"/sys/kernel/tracing", small, unix.MS_NODEV | unix.MS_NOSUID | unix.MS_NOEXEC},
	} {
		if m.path == "/run" && o.Services {
			continue
		}
		err := unix.Mount("tmpfs", m.path, "tmpfs", m.flags, m.options)
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("cannot hide %s: %w", m.path, err)
		}
	}
	return makeDevices()
}

// makeDevices fills /dev with what cannot change the host.
func makeDevices() error {
	if err := os.Mkdir("/dev/shm", 0o755); err != nil {
		return fmt.Errorf("cannot fill /dev: %w", err)
	}
	if err := unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NODEV|unix.MS_NOSUID, scratch); err != nil {
		return fmt.Errorf("cannot mount /dev/shm: %w", err)
	}
	for _, device := range []struct {
		name string
		dev  uint64
		mode fs.FileMode
	}{
		{"null", unix.Mkdev(1, 3), 0o666},
		{"zero", unix.Mkdev(1, 5), 0o444}, // processes that can write to it can share memory that no limit counts
		{"full", unix.Mkdev(1, 7), 0o666},
		{"random", unix.Mkdev(1, 8), 0o666},
		{"urandom", unix.Mkdev(1, 9), 0o666},
		{"tty", unix.Mkdev(5, 0), 0o666},
	} {
		path := "/dev/" + device.name
		if err := unix.Mknod(path, unix.S_IFCHR, int(device.dev)); err != nil { //nolint:gosec // a small number
			return fmt.Errorf("cannot create %s: %w", path, err)
		}
		if err := os.Chmod(path, device.mode); err != nil { // the umask applies to mknod
			return fmt.Errorf("cannot create %s: %w", path, err)
		}
	}
	for name, target := range map[string]string{"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"} {
		if err := os.Symlink("/proc/self/fd"+target, "/dev/"+name); err != nil {
			return fmt.Errorf("cannot fill /dev: %w", err)
		}
	}
	return nil
}

// sealDirectories makes the hidden directories read-only in which nobody writes.
func sealDirectories(o Options) error {
	sealed := []string{"/dev", "/sys/kernel/debug", "/sys/kernel/tracing"}
	if !o.Services {
		sealed = append(sealed, "/run")
	}
	for _, path := range sealed {
		err := unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("cannot make %s read-only: %w", path, err)
		}
	}
	return nil
}

// kept are copies of mounts of single files, by the paths where they are mounted again.
type kept map[string]int

// openKept opens the allowed sockets and, for a command with a network, the configuration of the resolver, which
// usually is a symlink to /run.
func openKept(o Options) (kept, error) {
	k := kept{}
	for _, path := range o.Sockets {
		if err := k.open(path, fs.ModeSocket); err != nil {
			return k, err
		}
	}
	if !o.Network {
		return k, nil
	}
	return k, k.open("/etc/resolv.conf", 0)
}

// open keeps a file of a type, if it exists.
func (k kept) open(path string, want fs.FileMode) error {
	file, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot keep %s: %w", path, err)
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, file, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("cannot keep %s: %w", path, err)
	}
	k[file] = fd
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("cannot keep %s: %w", path, err)
	}
	socket := st.Mode&unix.S_IFMT == unix.S_IFSOCK
	if regular := st.Mode&unix.S_IFMT == unix.S_IFREG; !socket && want == fs.ModeSocket || !regular && want == 0 {
		return fmt.Errorf("cannot keep %s: it is not a %s", path, map[bool]string{true: "socket", false: "regular file"}[want == fs.ModeSocket])
	}
	return nil
}

// mount mounts those that are hidden where they were.
func (k kept) mount() error {
	for path, fd := range k {
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = unix.Mknod(path, unix.S_IFREG, 0)
		}
		if err == nil {
			err = unix.MoveMount(fd, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH)
		}
		if err != nil {
			return fmt.Errorf("cannot keep %s: %w", strings.TrimSpace(path), err)
		}
	}
	return nil
}

func (k kept) close() {
	for _, fd := range k {
		_ = unix.Close(fd)
	}
}
