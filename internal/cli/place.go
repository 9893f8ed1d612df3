package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/external/image"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/trace"
	"github.com/fettle-dev/fettle/internal/state"
)

// A place says which host the command acts on: this machine, a directory, or the host that a process runs on.
type place struct {
	root  string      // --root; "" unless it is set
	pid   int         // --host-pid; 0 for none. It has no effect if root is set.
	types string      // --types-dir; "" unless it is set
	image image.Setup // for the programs of external types
	top   string      // the host's root directory as a path of this process, once the flags are checked
}

// addHost adds the flags that select the host.
func (a *app) addHost(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.place.root, "root", "", "directory that is the root of the host; commands run chrooted in it (default /)")
	cmd.Flags().IntVar(&a.place.pid, "host-pid", a.place.pid,
		"act on the host of this process, such as 1 in a pod with hostPID; mutually exclusive with --root (default $FETTLE_HOST_PID)")
	cmd.MarkFlagsMutuallyExclusive("root", "host-pid")
	_ = cmd.MarkFlagDirname("root") // it was just added
}

// addStateDir adds the flags for the host and for the state directory.
func (a *app) addStateDir(cmd *cobra.Command, dir *string) {
	a.addHost(cmd)
	cmd.Flags().StringVar(dir, "state-dir", "", "directory for state that is kept between runs (default "+state.DefaultDir+" under the root)")
	_ = cmd.MarkFlagDirname("state-dir") // it was just added
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
}

// check validates the flags and finds the root of the host.
func (p *place) check() error {
	if p.root != "" {
		root, err := filepath.Abs(p.root)
		if err != nil {
			return err
		}
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			return fmt.Errorf("--root %s is not a directory", p.root)
		}
		p.top, p.pid = root, 0
		return nil
	}
	switch {
	case p.pid < 0:
		return fmt.Errorf("--host-pid %d is not a process: use 1 in a pod with hostPID, or 0 for this machine", p.pid)
	case p.pid > 0:
		p.top = processRoot(p.pid)
	default:
		p.top = "/"
	}
	return nil
}

// processRoot is the root directory of the host that a process runs on.
func processRoot(pid int) string { return fmt.Sprintf("/proc/%d/root", pid) }

// local returns the path in this process of a path that was given on the command line: on the host with --host-pid,
// so that a call in a pod means the same as on the host. Its directories are then resolved within the host.
func (p *place) local(path string) (string, error) {
	if p.pid == 0 || p.root != "" {
		return path, nil
	}
	return state.DirOf(processRoot(p.pid), path)
}

// stateDir returns the state directory as a path of this process.
func (p *place) stateDir(flag string) (string, error) {
	if flag != "" {
		return p.local(flag)
	}
	return state.DirOf(p.top, state.DefaultDir)
}

// programsDir returns the directory on the host for the programs of external types: below the state directory, or below
// the default one if that is not on the host.
func (p *place) programsDir(stateDir string) string {
	dir := stateDir
	switch {
	case dir == "":
		dir = state.DefaultDir
	case p.pid > 0: // it is a path of the host
	default:
		inRoot, err := filepath.Rel(cmp.Or(p.top, "/"), absolute(dir))
		if dir = "/" + inRoot; err != nil || !filepath.IsLocal(inRoot) {
			dir = state.DefaultDir
		}
	}
	return path.Join(dir, "local-programs") // the agent has its own, and deletes others
}

// absolute returns an absolute path, or the path itself if the working directory is gone.
func absolute(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return name
}

// open opens the host.
func (a *app) open() (Host, error) {
	if err := a.place.check(); err != nil {
		return nil, err
	}
	var h Host
	var err error
	if a.place.pid > 0 {
		h, err = a.OpenProcessHost(a.place.pid)
	} else {
		h, err = a.OpenHost(a.place.top)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the host: %w", err)
	}
	return h, nil
}

// withHost opens the host for the duration of f. With --debug it logs every operation on the host.
func (a *app) withHost(f func(h Host) error) error {
	h, err := a.open()
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }() // nothing is buffered
	if a.out.Debugging {
		traced := trace.New(h, time.Now, a.out.Tracer())
		h = struct {
			host.Host
			host.Watcher
			io.Closer
		}{traced, h, h}
	}
	return a.place.explain(f(h))
}

// explain makes an error name the host's files as the host does.
func (p *place) explain(err error) error {
	if err == nil || p.pid == 0 || !strings.Contains(err.Error(), p.top) {
		return err
	}
	return &hostError{error: err, top: p.top}
}

// A hostError is an error with the paths of a host.
type hostError struct {
	error
	top string
}

// Error is the error without the path of the host's root.
func (e *hostError) Error() string { return strings.ReplaceAll(e.error.Error(), e.top+"/", "/") }

// Unwrap returns the error as it was.
func (e *hostError) Unwrap() error { return e.error }
