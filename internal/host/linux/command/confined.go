package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
	"github.com/fettle-dev/fettle/internal/host/linux/limit"
	"github.com/fettle-dev/fettle/internal/host/linux/sandbox"
	"github.com/fettle-dev/fettle/internal/host/linux/thread"
)

// runConfined runs a command with a Confinement. What it leaves running is killed when it ends: all of its sandbox, or
// its process group.
func (p *process) runConfined(ctx context.Context, r *Runner, c *exec.Cmd) (int, error) {
	options, err := p.sandbox(r)
	if err != nil {
		return 0, err
	}
	err = thread.Run(func() error { return p.startConfined(ctx, r, c, options) })
	if p.box != nil {
		defer p.box.Close()
	}
	if err != nil && c.Process != nil {
		_, _ = p.wait(ctx, c) // it was killed
	}
	if ctx.Err() != nil && err != nil {
		return 0, p.killError(ctx)
	}
	if err != nil {
		return 0, err
	}
	await(c.Process.Pid, unix.WEXITED)
	if p.box != nil {
		p.box.End()
	} else {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // the number is not reused before Wait
	}
	return p.wait(ctx, c)
}

// startConfined starts the command on the calling thread, stopped, and continues it once its limits apply.
func (p *process) startConfined(ctx context.Context, r *Runner, c *exec.Cmd, options sandbox.Options) error {
	if err := p.enter(ctx, r, options); err != nil {
		return err
	}
	if err := p.prepare(r); err != nil {
		return startError(c, p.cmd.Dir, err)
	}
	if err := p.confine(options); err != nil {
		return err
	}
	setUser(c, p.cmd)
	c.SysProcAttr.Ptrace = true // stops it before its first instruction
	if err := c.Start(); err != nil {
		return startError(c, p.cmd.Dir, err)
	}
	pid := c.Process.Pid
	await(pid, unix.WEXITED|unix.WSTOPPED)
	if err := p.limit(ctx, r, pid); err != nil {
		_ = p.kill(c.Process) // on this thread: its end would continue the command
		return err
	}
	if err := unix.PtraceDetach(pid); err != nil && !errors.Is(err, unix.ESRCH) { // it may have been killed meanwhile
		_ = p.kill(c.Process)
		return fmt.Errorf("cannot continue the command: %w", err)
	}
	return nil
}

// enter moves the calling thread to the host's root, in a sandbox or outside.
func (p *process) enter(ctx context.Context, r *Runner, options sandbox.Options) (err error) {
	if err := r.namespaces.join(); err != nil {
		return err
	}
	if !p.cmd.Confinement.ReadOnly {
		return enterRoot(r.root)
	}
	p.box, err = sandbox.Enter(ctx, options)
	return err
}

// prepare gives the calling thread the umask and the working directory of the command.
func (p *process) prepare(r *Runner) error {
	dir, err := r.files.OpenDir(p.cmd.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := prepareThread(p.cmd, dir); err != nil || !p.cmd.Confinement.ReadOnly {
		return err
	}
	if err := unix.Chdir(p.cmd.Dir); err != nil { // the directory with this path in the sandbox
		return &os.PathError{Op: "chdir", Path: p.cmd.Dir, Err: err}
	}
	return nil
}

// confine takes privileges from what the calling thread starts.
func (p *process) confine(options sandbox.Options) error {
	if p.cmd.Confinement.ReadOnly {
		return sandbox.Confine(options)
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

// sandbox decides what the sandbox of a ReadOnly command is like.
func (p *process) sandbox(r *Runner) (sandbox.Options, error) {
	if !p.cmd.Confinement.ReadOnly {
		return sandbox.Options{}, nil
	}
	unshare, err := r.files.LookPath("unshare")
	if err != nil {
		return sandbox.Options{}, fmt.Errorf("cannot confine the command: %w: install the package util-linux", err)
	}
	c := p.cmd.Confinement
	return sandbox.Options{Root: r.root, Network: c.Network, Sockets: c.Sockets, Services: c.Services, Unshare: unshare}, nil
}

// limit applies the limits of the command to a process, on another thread: the calling one may be in the sandbox.
func (p *process) limit(ctx context.Context, r *Runner, pid int) error {
	limits := limit.Limits{Memory: p.cmd.Confinement.Memory, Tasks: p.cmd.Confinement.Tasks, As: p.cmd.As}
	if r.transient && r.hasSystemd() {
		limits.Scope = newUnitName("") + ".scope"
		limits.Run = descriptor.Path(r.root) + "/run"
	}
	if p.cmd.Confinement.ReadOnly && !p.cmd.Confinement.Services {
		limits.Depth = 1
	}
	done := make(chan error)
	go func() { done <- limit.Apply(ctx, pid, limits) }()
	return <-done
}

// await waits until a child has ended, or stopped with unix.WSTOPPED. It leaves its status to Wait.
func await(pid, events int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, events|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
