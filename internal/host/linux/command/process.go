package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/sandbox"
)

// outputDelay is how long to wait, after a command ended, for output that its children hold
// open: a daemon never closes it.
const outputDelay = 2 * time.Second

// A process is one run of a command.
type process struct {
	cmd    host.Cmd
	killed atomic.Bool
	box    *sandbox.Sandbox // nil: none
}

// run starts the command, waits for it and returns its exit code. wire connects its streams.
func (p *process) run(ctx context.Context, r *Runner, wire func(*exec.Cmd)) (int, error) {
	file, err := r.files.LookPath(p.cmd.Args[0])
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.cmd.Timeout)
	defer cancel()
	c := exec.CommandContext(ctx, file) // absolute: not looked up here
	c.Args = p.cmd.Args
	c.Env = p.cmd.Env
	c.Dir = p.cmd.Dir
	c.Stdin = bytes.NewReader(p.cmd.Stdin)
	// A new session is also a process group, and has no terminal: the command of another user
	// could push characters into the input of root's terminal.
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.Cancel = func() error { return p.kill(c.Process) }
	c.WaitDelay = outputDelay
	wire(c)
	return p.untilStuck(ctx, func() (int, error) {
		if p.cmd.Confinement != nil {
			return p.runConfined(ctx, r, c)
		}
		if err := r.launch(c, p.cmd); err != nil {
			return 0, startError(c, p.cmd.Dir, err)
		}
		return p.wait(ctx, c)
	})
}

// endDelay is how long a process may take to end after it was killed.
const endDelay = 5 * time.Second

// errStuck is the error of a process that was killed and does not end. Its streams are still in use.
var errStuck = errors.New("it did not end: it waits for a file system or a device that does not answer, " +
	"which wchan and stack in its directory of /proc may name")

// untilStuck runs a process, and no longer waits for it if it does not end: a file system of a user can keep it from that.
func (p *process) untilStuck(ctx context.Context, run func() (int, error)) (int, error) {
	ended := make(chan struct{})
	var ranCode int
	var ranErr error
	go func() {
		defer close(ended)
		ranCode, ranErr = run()
	}()
	select {
	case <-ended:
		return ranCode, ranErr
	case <-ctx.Done():
	}
	select {
	case <-ended:
		return ranCode, ranErr
	case <-time.After(endDelay):
		return 0, fmt.Errorf("%w; %w", p.killError(ctx), errStuck)
	}
}

// startError names the working directory too: to the kernel, a missing directory and a missing
// executable are the same error.
func startError(c *exec.Cmd, dir string, err error) error {
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("cannot start %s in %s: %w", c.Path, dir, pathErr.Err)
	}
	return err
}

// kill kills the whole process group. It checks the leader first: once the leader has been
// waited for, its number may belong to others.
func (p *process) kill(leader *os.Process) error {
	if err := leader.Signal(syscall.Signal(0)); err != nil {
		return err
	}
	p.killed.Store(true)
	return syscall.Kill(-leader.Pid, syscall.SIGKILL)
}

// wait waits for a started command.
func (p *process) wait(ctx context.Context, c *exec.Cmd) (int, error) {
	err := c.Wait()
	if c.ProcessState == nil {
		return 0, err
	}
	status, ok := c.ProcessState.Sys().(syscall.WaitStatus)
	if !ok {
		return 0, err
	}
	code := exitCode(status)
	if p.killed.Load() && status.Signaled() {
		return code, p.killError(ctx)
	}
	return code, ignoreExit(err)
}

// killError says why the command was killed.
func (p *process) killError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("killed after its timeout of %s: %w", p.cmd.Timeout, ctx.Err())
	}
	return fmt.Errorf("killed: %w", ctx.Err())
}

// exitCode returns the exit code that a shell would report.
func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// ignoreExit drops errors that are no failure to run: how the command ended, output that its
// children still hold open, and a kill that came too late.
func ignoreExit(err error) error {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	if errors.Is(err, exec.ErrWaitDelay) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}
