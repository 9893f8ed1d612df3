package resolve

import (
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// A MountTable is the table of the mounts that a process sees, mountinfo in proc(5). It is read when it has changed: that of a
// machine with many containers has thousands of lines. It is safe for concurrent use.
type MountTable struct {
	// The file is open, because a thread that looks for a file may be in a sandbox.
	file *os.File

	mu    sync.Mutex
	users map[uint64]string // who made a mount, by its number; nil if it has to be read
}

// OpenMountTable opens a table. The caller closes it.
func OpenMountTable(path string) (*MountTable, error) {
	// It is not [os.Open], which registers the file with the poller of the runtime: that would take the events of changes.
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &MountTable{file: os.NewFile(uintptr(fd), path)}, nil
}

// Close closes the table.
func (t *MountTable) Close() error { return t.file.Close() }

// user returns the user who made a mount, as the file system says; "" for root and for other file systems.
func (t *MountTable) user(mount uint64) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users == nil || t.hasChanged() {
		t.users = nil
		table, err := io.ReadAll(io.NewSectionReader(t.file, 0, math.MaxInt64))
		if err != nil {
			return "", err
		}
		t.users = usersOf(string(table))
	}
	return t.users[mount], nil
}

// hasChanged reports whether a mount was made or removed since it was called last. The kernel counts these changes for each open
// table.
func (t *MountTable) hasChanged() bool {
	fds := []unix.PollFd{{Fd: int32(t.file.Fd()), Events: unix.POLLPRI}} //nolint:gosec // descriptors are small
	n, err := unix.Poll(fds, 0)
	return err != nil || n > 0
}

// usersOf returns who made the mounts of a table, without those of root.
func usersOf(table string) map[uint64]string {
	users := map[uint64]string{}
	for line := range strings.Lines(table) {
		number, rest, _ := strings.Cut(line, " ")
		id, err := strconv.ParseUint(number, 10, 64)
		if user := userOf(rest); err == nil && user != "" {
			users[id] = user
		}
	}
	return users
}

func userOf(line string) string {
	_, fs, _ := strings.Cut(line, " - ")
	fields := strings.Fields(fs) // type, source and options
	if len(fields) < 3 || !strings.HasPrefix(fields[0], "fuse") {
		return ""
	}
	options := strings.Split(fields[2], ",")
	i := slices.IndexFunc(options, func(o string) bool { return strings.HasPrefix(o, "user_id=") })
	if i < 0 || options[i] == "user_id=0" {
		return ""
	}
	return strings.TrimPrefix(options[i], "user_id=")
}
