// Package command runs commands on a host: in its root directory, its namespaces and, for work that must
// outlive this process, in a transient unit of its systemd.
package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// Files are the files of the host that commands run on.
type Files interface {
	LookPath(name string) (string, error)
	Stat(path string) (host.FileInfo, error)
	Lstat(path string) (host.FileInfo, error)
	ReadFile(path string) ([]byte, error)
	ReadDir(path string) ([]string, error)
	// OpenDir opens a directory to enter it, unless its file system may never answer.
	OpenDir(path string) (*os.File, error)
	WriteFile(ctx context.Context, path string, f host.NewFile) (sum [32]byte, err error)
	Mkdir(path string, mode uint32) error
	Remove(path string) error
	RemoveAll(path string) error
}

// Options say where commands run.
type Options struct {
	Root int // descriptor of the host's root directory, which must stay open
	// PID, when above 0, is the process whose namespaces commands run in.
	PID int
	// Chroot runs commands in our own namespaces, chrooted into Root.
	Chroot bool
	// Transient runs Detached commands in a transient unit if systemd runs the host. It has no effect with Chroot.
	Transient bool
}

// A Runner runs commands on one host. It is safe for concurrent use, but not after Close.
type Runner struct {
	files      Files
	root       int
	namespaces *namespaces // none: commands run in our own
	start      launcher
	transient  bool
}

// New returns a runner. The caller closes it.
func New(files Files, opts Options) (*Runner, error) {
	r := &Runner{files: files, root: opts.Root, namespaces: &namespaces{}, start: startPlain, transient: opts.Transient}
	switch {
	case opts.PID > 0:
		ns, err := openNamespaces(opts.PID)
		if err != nil {
			return nil, err
		}
		r.namespaces, r.start = ns, ns.launcher(opts.Root)
	case opts.Chroot:
		r.start, r.transient = startChrooted(opts.Root), false
	default:
		r.transient = opts.Transient && underSystemd()
	}
	return r, nil
}

// Close releases the namespaces.
func (r *Runner) Close() error { return r.namespaces.Close() }

// Query runs a command that only reads. It ends with ctx at the latest.
func (r *Runner) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	if cmd.Confinement == nil || !cmd.Confinement.ReadOnly {
		return r.run(ctx, cmd)
	}
	cmd.Detached = false
	return r.run(ctx, cmd)
}

// Run runs a command. The end of ctx does not stop a Detached command, because it may be a package
// installation. Only its Timeout does and, if it is our child, an abort ([host.WithAbort]), which would orphan it. An abort
// leaves a transient unit to the next [Runner.Resume] or Run of its owner.
// Its Confinement is never ReadOnly.
func (r *Runner) Run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	if cmd.Confinement != nil {
		limits := *cmd.Confinement
		limits.ReadOnly = false
		cmd.Confinement = &limits
	}
	return r.run(ctx, cmd)
}

func (r *Runner) run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	cmd, err := r.complete(cmd)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return host.Result{}, commandError(cmd, err)
	}
	if !cmd.Detached {
		res, err := r.runPlain(ctx, cmd)
		return res, commandError(cmd, err)
	}
	if r.transient && r.hasSystemd() {
		res, err := r.runTransient(host.UntilAbort(ctx), cmd)
		return res, commandError(cmd, err)
	}
	res, err := r.runDetached(host.UntilAbort(ctx), cmd)
	return res, commandError(cmd, err)
}

// commandError names the command, but none of its arguments, which may be secret.
func commandError(cmd host.Cmd, err error) error {
	if err == nil {
		return nil
	}
	if len(cmd.Args) == 0 {
		return err
	}
	return fmt.Errorf("cannot run %q: %w", cmd.Args[0], err)
}

// complete finds the command and sets defaults.
func (r *Runner) complete(cmd host.Cmd) (host.Cmd, error) {
	if len(cmd.Args) == 0 {
		return cmd, errors.New("cannot run a command without Args: name one in Args[0]")
	}
	if _, err := r.files.LookPath(cmd.Args[0]); err != nil {
		return cmd, err
	}
	env, err := environment(cmd)
	if err != nil {
		return cmd, err
	}
	cmd.Env = env
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	if cmd.Timeout <= 0 {
		cmd.Timeout = host.DefaultTimeout
	}
	if cmd.MaxOutput <= 0 {
		cmd.MaxOutput = host.DefaultMaxOutput
	}
	return cmd, nil
}

// environment adds the command's own variables to the minimal environment, or to none. Its error
// does not quote an entry, which may be secret.
func environment(cmd host.Cmd) ([]string, error) {
	env := []string{"PATH=" + host.SearchPath, "LC_ALL=C.UTF-8", "HOME=/root"}
	if cmd.BareEnv {
		env = []string{} // nil would be our own
	}
	for i, kv := range cmd.Env {
		if name, _, found := strings.Cut(kv, "="); !found || name == "" {
			return nil, fmt.Errorf("entry %d of Env is not KEY=value", i)
		}
		env = append(env, kv)
	}
	return env, nil
}

// runPlain runs a completed command and waits for it.
func (r *Runner) runPlain(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	stdout, stderr := &capture{limit: cmd.MaxOutput}, &capture{limit: cmd.MaxOutput}
	p := &process{cmd: cmd}
	code, err := p.run(ctx, r, func(c *exec.Cmd) { c.Stdout, c.Stderr = stdout, stderr })
	if errors.Is(err, errStuck) {
		return host.Result{}, err
	}
	return host.Result{
		ExitCode:  code,
		Stdout:    stdout.kept,
		Stderr:    stderr.kept,
		Truncated: stdout.dropped || stderr.dropped,
	}, err
}

// runDetached runs a completed command in our control group. Its streams are files in memory, as in a transient
// unit: if we die, the command neither blocks nor fails on them.
func (r *Runner) runDetached(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	s, err := newStreams(cmd.Stdin)
	if err != nil {
		return host.Result{}, err
	}
	p := &process{cmd: cmd}
	stop := s.trim(cmd.MaxOutput)
	code, runErr := p.run(ctx, r, s.wire)
	stop()
	res, err := s.output(cmd.MaxOutput)
	res.ExitCode = code
	return res, errors.Join(runErr, err, s.Close())
}

// A capture keeps the first bytes of a stream and drops the rest.
type capture struct {
	limit   int
	kept    []byte
	dropped bool
}

// Write accepts everything, so that the command never blocks or fails on it.
func (c *capture) Write(p []byte) (int, error) {
	room := min(len(p), c.limit-len(c.kept))
	c.kept = append(c.kept, p[:room]...)
	if room < len(p) {
		c.dropped = true
	}
	return len(p), nil
}
