package linux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
)

// Query implements [host.Reader].
func (h *Host) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	return h.run(ctx, cmd)
}

// Run implements [host.Host]. The end of ctx does not stop a Detached command,
// because it may be a package installation: only its Timeout does and, where it is our
// child, an abort ([host.WithAbort]), which would orphan it.
func (h *Host) Run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	return h.run(ctx, cmd)
}

func (h *Host) run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	cmd, err := h.complete(cmd)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return host.Result{}, commandError(cmd, err)
	}
	if !cmd.Detached {
		res, err := h.runPlain(ctx, cmd)
		return res, commandError(cmd, err)
	}
	if h.transient && h.hasSystemd() {
		res, err := h.runTransient(context.WithoutCancel(ctx), cmd)
		return res, commandError(cmd, err)
	}
	res, err := h.runDetached(host.UntilAbort(ctx), cmd)
	return res, commandError(cmd, err)
}

// commandError names the command and nothing that may be secret.
func commandError(cmd host.Cmd, err error) error {
	if err == nil {
		return nil
	}
	if len(cmd.Args) == 0 {
		return err
	}
	return fmt.Errorf("cannot run %q: %w", cmd.Args[0], err)
}

// complete finds the command and settles what its caller left open.
func (h *Host) complete(cmd host.Cmd) (host.Cmd, error) {
	if len(cmd.Args) == 0 {
		return cmd, errors.New("cannot run a command without Args: name one in Args[0]")
	}
	if _, err := h.LookPath(cmd.Args[0]); err != nil {
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

// environment is the minimal one, unless none is asked for, with the command's own on
// top. Its error does not quote an entry, which may be secret.
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
func (h *Host) runPlain(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	stdout, stderr := &capture{limit: cmd.MaxOutput}, &capture{limit: cmd.MaxOutput}
	p := &process{cmd: cmd}
	code, err := p.run(ctx, h, func(c *exec.Cmd) { c.Stdout, c.Stderr = stdout, stderr })
	return host.Result{
		ExitCode:  code,
		Stdout:    stdout.kept,
		Stderr:    stderr.kept,
		Truncated: stdout.dropped || stderr.dropped,
	}, err
}

// runDetached runs a completed command in our control group, with the streams of a
// transient unit: if we die, it neither blocks nor breaks on them either.
func (h *Host) runDetached(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	s, err := newStreams(cmd.Stdin)
	if err != nil {
		return host.Result{}, err
	}
	p := &process{cmd: cmd}
	stop := s.trim(cmd.MaxOutput)
	code, runErr := p.run(ctx, h, s.wire)
	stop()
	res, err := s.output(cmd.MaxOutput)
	res.ExitCode = code
	return res, errors.Join(runErr, err, s.Close())
}

// outputDelay is how long, after a command ended, the output is awaited that its
// children still hold open: a daemon holds it for ever.
const outputDelay = 2 * time.Second

// A process is one run of a command.
type process struct {
	cmd    host.Cmd
	killed atomic.Bool
}

// run starts the command, waits for its end and returns its exit code. wire connects
// its streams.
func (p *process) run(ctx context.Context, h *Host, wire func(*exec.Cmd)) (int, error) {
	file, err := h.LookPath(p.cmd.Args[0])
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
	// A session of its own also is a process group, and has no terminal: a command of another
	// user could put characters into the input of root's.
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.Cancel = func() error { return p.kill(c.Process) }
	c.WaitDelay = outputDelay
	wire(c)
	if err := h.launch(c, p.cmd); err != nil {
		return 0, startError(c, p.cmd.Dir, err)
	}
	return p.end(ctx, c)
}

// startError says where the command was to run, as a directory that is not there
// and a file that is not there are one error to the kernel.
func startError(c *exec.Cmd, dir string, err error) error {
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("cannot start %s in %s: %w", c.Path, dir, pathErr.Err)
	}
	return err
}

// kill ends the whole process group. The leader's own state is asked first: once
// it has been waited for, its number may belong to others.
func (p *process) kill(leader *os.Process) error {
	if err := leader.Signal(syscall.Signal(0)); err != nil {
		return err
	}
	p.killed.Store(true)
	return syscall.Kill(-leader.Pid, syscall.SIGKILL)
}

// end waits for a started command.
func (p *process) end(ctx context.Context, c *exec.Cmd) (int, error) {
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
		return code, p.interrupted(ctx)
	}
	return code, realError(err)
}

// interrupted says why the command was killed.
func (p *process) interrupted(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("killed when its time, at most %s, was up: %w", p.cmd.Timeout, ctx.Err())
	}
	return fmt.Errorf("killed: %w", ctx.Err())
}

// exitCode follows the shells.
func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// realError keeps what is neither the way the command ended, which is data, nor
// output that a child of it still holds open, nor a kill that came too late.
func realError(err error) error {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	if errors.Is(err, exec.ErrWaitDelay) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// A capture keeps the first bytes of a stream and counts the rest as dropped.
type capture struct {
	limit   int
	kept    []byte
	dropped bool
}

// Write takes everything, so that the command never blocks or fails on it.
func (c *capture) Write(p []byte) (int, error) {
	room := min(len(p), c.limit-len(c.kept))
	c.kept = append(c.kept, p[:room]...)
	if room < len(p) {
		c.dropped = true
	}
	return len(p), nil
}
