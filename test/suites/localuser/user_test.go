package localuser_test

import (
	"errors"
	"hash/fnv"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host/linux/thread"
)

// payload is the content of each file that the user writes.
const payload = "what zed planted"

// zedsList is an access list by which zed may do everything.
var zedsList = []byte("\x02\x00\x00\x00" +
	"\x01\x00\x07\x00\xff\xff\xff\xff" + "\x02\x00\x07\x00\xe9\x03\x00\x00" + "\x04\x00\x05\x00\xff\xff\xff\xff" +
	"\x10\x00\x07\x00\xff\xff\xff\xff" + "\x20\x00\x05\x00\xff\xff\xff\xff")

// A hostile user acts on a thread that has the rights of zed, and the root directory of the host.
type hostile struct {
	f     *fixture
	seed  string
	calls chan func()

	mu      sync.Mutex
	actions int
	steps   map[string]int
}

func newHostile(f *fixture) *hostile {
	u := &hostile{f: f, seed: string(f.input), calls: make(chan func()), steps: map[string]int{}}
	ready := make(chan error)
	go thread.Run(func() error { //nolint:errcheck // reports to ready
		ready <- become(f.dir)
		for act := range u.calls {
			act()
		}
		return nil
	})
	must(f.t, <-ready)
	f.t.Cleanup(func() { close(u.calls) })
	return u
}

// become gives the calling thread the rights of zed in files.
func become(root string) error {
	err := errors.Join(unix.Unshare(unix.CLONE_FS), unix.Chroot(root), unix.Chdir("/"))
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
		err = errors.Join(err, errno)
	}
	return errors.Join(err, unix.Setfsgid(zed), unix.Setfsuid(zed))
}

// before is called before each step of a run. Whether the user acts then depends on the input and on the step, and not on what runs
// at the same time.
func (u *hostile) before(step, file string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := step + " " + file
	u.steps[key]++
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(u.seed + key + strconv.Itoa(u.steps[key])))
	const one, in = 1, 6
	if n := sum.Sum64(); n>>32%in < one {
		u.actLocked(n, "  before "+key+": ")
	}
}

// act has the user act.
func (u *hostile) act(b byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range uint64(3) {
		n := (uint64(b) + 1 + i) * 0x9e3779b97f4a7c15
		u.actLocked(n^n>>29, "")
	}
}

// actLocked acts as a number says. What fails is no loss.
func (u *hostile) actLocked(n uint64, when string) {
	if u.actions++; u.actions > maxActions {
		return
	}
	take := func(of int) int {
		is := int(n % uint64(of)) //nolint:gosec // small
		n /= uint64(of)
		return is
	}
	name, args := "", []string{paths[take(len(paths))], paths[take(len(paths))], linkTargets[take(len(linkTargets))]}
	var act func() error
	switch from, to, text := args[0], args[1], args[2]; take(15) {
	case 0, 1, 2:
		name, act = "symlink", func() error { return errors.Join(clear(from), unix.Symlink(text, from)) }
	case 3, 4:
		name, act = "mkdir", func() error { return errors.Join(clear(from), unix.Mkdir(from, 0o777)) }
	case 5:
		name, act = "write", func() error { return write(from) }
	case 6:
		name, act = "rename", func() error { return unix.Rename(from, to) }
	case 7:
		name, act = "exchange", func() error { return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE) }
	case 8:
		name, act = "fifo", func() error { return errors.Join(clear(from), unix.Mkfifo(from, 0o666)) }
	case 9:
		name, act = "sparse", func() error { return errors.Join(write(from), unix.Truncate(from, 64<<20)) }
	case 10:
		name, act = "chmod", func() error { return unix.Chmod(from, []uint32{0o777, 0o6755, 0, 0o1777}[len(to)%4]) }
	case 11:
		name, act = "remove", func() error { return clear(from) }
	case 12:
		name, act = "link", func() error { return unix.Link(to, from) }
	case 13:
		// On everything that zed may own. New files in a directory get the second list.
		name, act = "access list", func() error {
			return errors.Join(unix.Setxattr(from, "system.posix_acl_access", zedsList, 0), unix.Setxattr(from, "system.posix_acl_default", zedsList, 0))
		}
	case 14:
		// As root, because the machine of the test may protect hard links.
		name = "hard link"
		if u.canWriteTo(path.Dir(from)) {
			_ = os.Link(filepath.Join(u.f.dir, text), filepath.Join(u.f.dir, from))
		}
	}
	var err error
	if act != nil {
		err = u.as(act)
	}
	u.f.logf("%szed: %s %v: %v", when, name, args, err)
}

func (u *hostile) as(act func() error) error {
	done := make(chan error)
	u.calls <- func() { done <- act() }
	return <-done
}

// canWriteTo reports whether zed could make a hard link in a directory: one that no symlink leads to.
func (u *hostile) canWriteTo(dir string) bool {
	return u.as(func() error {
		fd, err := unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY, Resolve: unix.RESOLVE_NO_SYMLINKS})
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		temp := dir + "/.zed"
		return errors.Join(unix.Mkdir(temp, 0o700), unix.Rmdir(temp))
	}) == nil
}

// readFile returns the beginning of a file; "" if zed cannot read it.
func (u *hostile) readFile(p string) (text string) {
	_ = u.as(func() error {
		fd, err := unix.Open(p, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		head := make([]byte, 256)
		n, err := unix.Read(fd, head)
		text = string(head[:max(n, 0)])
		return errors.Join(err, unix.Close(fd))
	})
	return text
}

// clear removes what is at a path, if that is possible.
func clear(p string) error {
	if unix.Unlink(p) != nil {
		_ = unix.Rmdir(p)
	}
	return nil
}

func write(p string) error {
	fd, err := unix.Open(p, unix.O_CREAT|unix.O_WRONLY|unix.O_NONBLOCK, 0o755)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte(payload))
	return errors.Join(err, unix.Fchmod(fd, 0o6755), unix.Close(fd))
}
