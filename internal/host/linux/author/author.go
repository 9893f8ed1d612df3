// Package author finds out which process made a change, as long as the process exists.
//
// It reads /proc/PID/exe, status, loginuid and cgroup: never the arguments or the environment, which may hold secrets.
package author

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// Limits of what is read.
const (
	maxText      = 16 << 10
	maxAncestors = 64
)

// A process is an open directory of /proc. Reading it fails after the process was reaped, even if another process has its
// number by then.
type process struct {
	pid int64
	dir int
}

func open(pid int64) (process, error) {
	dir, err := unix.Open("/proc/"+strconv.FormatInt(pid, 10), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return process{pid, dir}, err
}

func (p process) close() { _ = unix.Close(p.dir) }

// text returns a file of the process, "" if it can't be read.
func (p process) text(name string) string {
	fd, err := unix.Openat(p.dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var all []byte
	buf := make([]byte, maxText)
	for len(all) < maxText {
		n, err := unix.Read(fd, buf[:maxText-len(all)])
		if err != nil || n <= 0 {
			break
		}
		all = append(all, buf[:n]...)
	}
	return string(all)
}

// executable returns the path of the program, "" if the process has ended or has none.
func (p process) executable() string {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(p.dir, "exe", buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

// Of returns the process with this number and descriptor, which the caller closes. It returns nil if the process was reaped before
// it could be looked at, and for this process and those that it started, directly or in units of systemd.
func Of(pid int64, pidfd int) *host.Author {
	self := int64(os.Getpid())
	if pid <= 0 || pid == self || pidfd < 0 {
		return nil
	}
	p, err := open(pid)
	if err != nil {
		return nil
	}
	defer p.close()
	if unix.PidfdSendSignal(pidfd, 0, nil, 0) != nil {
		return nil // p may be another process
	}
	files := Files{Executable: p.executable()} // which is lost first
	files.Status, files.LoginUID, files.Cgroup = p.text("status"), p.text("loginuid"), p.text("cgroup")
	a := files.Author(pid)
	if a == nil || descends(parseStatus(files.Status).parent, self) {
		return nil
	}
	return a
}

// descends reports whether a process is an ancestor of a process or that process itself.
func descends(pid, ancestor int64) bool {
	for range maxAncestors {
		if pid == ancestor {
			return true
		}
		if pid <= 1 {
			break
		}
		p, err := open(pid)
		if err != nil {
			break
		}
		pid = parseStatus(p.text("status")).parent
		p.close()
	}
	return false
}
