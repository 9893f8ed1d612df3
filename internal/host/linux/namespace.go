package linux

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// namespaces of a process, held open: they stay what they are when the process
// ends and its number is used again.
type namespaces struct {
	files []*os.File // in the order in which they are entered
	flags []int
}

// openNamespaces takes those that matter to a command. The mount namespace comes
// last: with it the thread's view of /proc changes.
func openNamespaces(pid int) (*namespaces, error) {
	ns := &namespaces{flags: []int{
		unix.CLONE_NEWPID, unix.CLONE_NEWUTS, unix.CLONE_NEWIPC, unix.CLONE_NEWNET, unix.CLONE_NEWNS,
	}}
	for _, name := range []string{"pid", "uts", "ipc", "net", "mnt"} {
		f, err := os.Open(procPath(pid, "ns/"+name))
		if err != nil {
			return nil, errors.Join(err, ns.Close())
		}
		ns.files = append(ns.files, f)
	}
	return ns, nil
}

// Close lets go of the namespaces.
func (ns *namespaces) Close() error {
	var errs []error
	for _, f := range ns.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// launcher starts commands in the namespaces and below a root directory.
func (ns *namespaces) launcher(root int) launcher {
	return func(c *exec.Cmd, settle func() error) error {
		return onDoomedThread(func() error {
			if err := ns.enter(root); err != nil {
				return err
			}
			return startSettled(c, settle)
		})
	}
}

// enter moves the calling thread, and nothing else of this process.
func (ns *namespaces) enter(root int) error {
	if err := separate(); err != nil {
		return err
	}
	for i, f := range ns.files {
		if err := unix.Setns(int(f.Fd()), ns.flags[i]); err != nil {
			return fmt.Errorf("cannot enter %s: %w", f.Name(), err)
		}
	}
	// The process may be chrooted inside its mount namespace.
	if err := unix.Fchdir(root); err != nil {
		return fmt.Errorf("cannot enter the host's root: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("cannot chroot into the host's root: %w", err)
	}
	return nil
}

// separate gives the calling thread a root, a directory and a umask of its own.
func separate() error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("cannot separate a thread's file system attributes: %w", err)
	}
	return nil
}

// onDoomedThread runs f on an OS thread that ends with it, so that what f did to
// the thread is never seen by other goroutines.
func onDoomedThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		// Never unlocked: the runtime ends the thread of a goroutine that ends locked.
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			done <- f()
			return
		}
		// The main thread cannot end, and /proc/self shows its namespaces. While it
		// is locked here, another goroutine is sure to get another thread.
		done <- onDoomedThread(f)
		runtime.UnlockOSThread()
	}()
	return <-done
}
