package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host/linux/thread"
)

// namespaces of a process, held open: they stay the same when the process ends and its number
// is reused.
type namespaces struct {
	files []*os.File // in the order in which they are entered
	flags []int
}

// openNamespaces opens those that matter to a command. The mount namespace comes last: it changes
// the thread's view of /proc.
func openNamespaces(pid int) (*namespaces, error) {
	ns := &namespaces{flags: []int{
		unix.CLONE_NEWPID, unix.CLONE_NEWUTS, unix.CLONE_NEWIPC, unix.CLONE_NEWNET, unix.CLONE_NEWNS,
	}}
	for _, name := range []string{"pid", "uts", "ipc", "net", "mnt"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, name))
		if err != nil {
			return nil, errors.Join(err, ns.Close())
		}
		ns.files = append(ns.files, f)
	}
	return ns, nil
}

// Close closes the namespaces.
func (ns *namespaces) Close() error {
	var errs []error
	for _, f := range ns.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// launcher starts commands in the namespaces and below a root directory.
func (ns *namespaces) launcher(root int) launcher {
	return func(c *exec.Cmd, prepare func() error) error {
		return thread.Run(func() error {
			if err := ns.enter(root); err != nil {
				return err
			}
			return startPrepared(c, prepare)
		})
	}
}

// enter moves only the calling thread.
func (ns *namespaces) enter(root int) error {
	if err := ns.join(); err != nil {
		return err
	}
	return enterRoot(root)
}

// join enters the namespaces, but not the root directory.
func (ns *namespaces) join() error {
	if err := thread.Unshare(); err != nil {
		return err
	}
	for i, f := range ns.files {
		if err := unix.Setns(int(f.Fd()), ns.flags[i]); err != nil {
			return fmt.Errorf("cannot enter %s: %w", f.Name(), err)
		}
	}
	return nil
}

// enterRoot enters the host's root: a process may be chrooted inside its mount namespace.
func enterRoot(root int) error {
	if err := unix.Fchdir(root); err != nil {
		return fmt.Errorf("cannot enter the host's root: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("cannot chroot into the host's root: %w", err)
	}
	return nil
}
