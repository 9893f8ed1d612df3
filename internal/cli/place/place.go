// Package place finds and opens the host that a command acts on: this machine, a directory with a root file system, or the
// host that a process runs on.
package place

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/trace"
	"github.com/fettle-dev/fettle/internal/state"
)

// A Host is an open host.
type Host interface {
	host.Host
	host.Watcher
	io.Closer
}

// Hosts opens hosts.
type Hosts struct {
	// Root opens the host whose root is a directory.
	Root func(root string) (Host, error)
	// Process opens the host that a process runs on. It is an error if this program runs there, too.
	Process func(pid int) (Host, error)
	// PID is the default of --host-pid; 0 is this machine.
	PID int
}

// A Place is a host, as flags select it. It never changes.
type Place struct {
	// Top is the host's root directory as a path of this process.
	Top string
	// State is the state directory that a flag names; "" is the default one of the host.
	State string

	pid int // 0 unless it is the host of a process
}

// OfProcess reports whether the host is that of a process. Files that the command line names are then files of that host.
func (p Place) OfProcess() bool { return p.pid > 0 }

// processRoot is the root directory of the host that a process runs on.
func processRoot(pid int) string { return fmt.Sprintf("/proc/%d/root", pid) }

// Local returns the path in this process of a path that was given on the command line: on the host with --host-pid,
// so that a call in a pod means the same as on the host. Its directories are then resolved within the host.
func (p Place) Local(path string) (string, error) {
	if !p.OfProcess() {
		return path, nil
	}
	return state.DirOf(p.Top, path)
}

// StateDir returns the state directory as a path of this process.
func (p Place) StateDir() (string, error) {
	if p.State != "" {
		return p.Local(p.State)
	}
	return state.DirOf(p.Top, state.DefaultDir)
}

// ProgramsDir returns the directory on the host for the programs of external types: below the state directory, or below
// the default one if that is not on the host.
func (p Place) ProgramsDir() string {
	dir := p.State
	switch {
	case dir == "":
		dir = state.DefaultDir
	case p.OfProcess(): // it is a path of the host
	default:
		inRoot, err := filepath.Rel(cmp.Or(p.Top, "/"), absolute(dir))
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

// With opens the host of a place for the duration of do. A tracer gets every operation on the host; nil traces nothing.
func (h Hosts) With(at Place, tracer func(line string), do func(Host) error) error {
	open, err := h.open(at)
	if err != nil {
		return fmt.Errorf("cannot open the host: %w", err)
	}
	defer func() { _ = open.Close() }() // nothing is buffered
	if tracer != nil {
		open = struct {
			host.Host
			host.Watcher
			io.Closer
		}{trace.New(open, time.Now, tracer), open, open}
	}
	return at.explain(do(open))
}

// WithState calls do with the state directory of the host that flags select. A place that is no host has no state either.
func (h Hosts) WithState(f Flags, tracer func(line string), do func(dir string) error) error {
	at, err := f.Place()
	if err != nil {
		return err
	}
	return h.With(at, tracer, func(Host) error {
		dir, err := at.StateDir()
		if err != nil {
			return err
		}
		return do(dir)
	})
}

func (h Hosts) open(at Place) (Host, error) {
	if at.OfProcess() {
		return h.Process(at.pid)
	}
	return h.Root(at.Top)
}

// explain makes an error name the host's files as the host does.
func (p Place) explain(err error) error {
	if err == nil || !p.OfProcess() || !strings.Contains(err.Error(), p.Top) {
		return err
	}
	return &hostError{error: err, top: p.Top}
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
