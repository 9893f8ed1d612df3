// Package sandbox runs commands that can read a host but not change it.
//
// A command in a sandbox is root with the single capability to read every file. It has mount, pid, ipc, uts and
// network namespaces of its own, in which all file systems are read-only and no devices can be opened. Landlock and a
// filter of system calls stop what namespaces leave open.
package sandbox

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Options describe a sandbox.
type Options struct {
	Root    int      // descriptor of the host's root directory
	Network bool     // leaves the network namespace of the host
	Sockets []string // paths of Unix sockets that can be connected to, if they exist
	// Services leaves the network, ipc and pid namespaces of the host, /run and all sockets.
	Services bool
	Unshare  string // path of unshare(1) on the host
}

// A Sandbox is a pid namespace and its first process; with Services it has none. The other namespaces belong to the thread
// that entered it.
type Sandbox struct{ init *initProcess }

// Enter moves the calling thread into a new sandbox: into all of its namespaces and to the host's root in it. It is
// not confined before Confine. The thread must be in the host's namespaces and be thrown away afterwards. The caller
// closes the sandbox, which is nil with Services. The end of ctx aborts Enter, but does not end the sandbox.
func Enter(ctx context.Context, o Options) (*Sandbox, error) {
	if err := mountTree(o); err != nil {
		return nil, explain(err)
	}
	if o.Services {
		return nil, nil
	}
	init, err := startInit(ctx, o.Unshare)
	if err != nil {
		return nil, explain(err)
	}
	return &Sandbox{init: init}, nil
}

// Confine takes the means to change the host from the commands that the calling thread starts from now on. The thread
// itself keeps its capabilities.
func Confine(o Options) error {
	if err := dropCapabilities(); err != nil {
		return explain(err)
	}
	if err := restrictWrites(); err != nil {
		return explain(err)
	}
	return explain(installFilter(o.Services || len(o.Sockets) > 0))
}

// End kills everything in the sandbox. It does not wait.
func (s *Sandbox) End() { s.init.end() }

// Close ends the sandbox and waits for its end. The caller has waited for the commands that it started in it.
func (s *Sandbox) Close() { s.init.close() }

// explain adds a remedy to the error of a system call that only a privileged process can make.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EPERM) && unix.Geteuid() != 0:
		return fmt.Errorf("cannot confine the command: %w: run as root", err)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("cannot confine the command: %w: run as root with all capabilities, in a privileged pod", err)
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("cannot confine the command: %w: use Linux 5.12 or newer and let no filter deny it", err)
	}
	return fmt.Errorf("cannot confine the command: %w", err)
}
