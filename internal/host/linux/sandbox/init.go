package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// initProcess is the first process of a pid namespace, a shell of the host, and the unshare(1) that started it. When it ends,
// the kernel kills all other processes of the namespace. It ends when its standard input does, so that nothing outlives
// this process either.
type initProcess struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

// firstScript mounts the /proc of the namespace, which only a process in it can do, and waits. The shell would keep
// orphans that have ended, so it ignores their signal.
const firstScript = `mount -n -t proc -o ro,nosuid,nodev,noexec proc /proc && trap '' CHLD && echo ready && read -r _`

// endDelay is how long the process may take to end by itself.
const endDelay = time.Second

// startInit creates a pid namespace below the host's, for commands that the calling thread starts from now on.
// The process keeps its capabilities, so its environment has nothing from the command.
func startInit(ctx context.Context, unshare string) (*initProcess, error) {
	c := exec.Command(unshare, "--pid", "--fork", "--kill-child", "--", "/bin/sh", "-c", firstScript) //nolint:noctx // outlives ctx
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"}
	c.Dir = "/"
	c.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close())
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the first process of a pid namespace: %w", err)
	}
	f := &initProcess{cmd: c, stdin: stdin}
	stop := context.AfterFunc(ctx, f.kill)
	said, err := io.ReadAll(io.LimitReader(stdout, int64(len(ready))))
	if !stop() {
		err = ctx.Err()
	}
	if err == nil && string(said) == ready {
		if err = f.join(); err == nil {
			return f, nil
		}
	}
	f.close()
	if err == nil {
		err = fmt.Errorf("%s", bytes.TrimSpace(stderr.Bytes()))
	}
	return nil, fmt.Errorf("cannot create a pid namespace: %w", err)
}

// ready is what the process writes once /proc is mounted.
const ready = "ready\n"

// join has the calling thread start commands in the namespace.
func (f *initProcess) join() error {
	ns, err := f.open()
	if err != nil {
		return err
	}
	return errors.Join(unix.Setns(int(ns.Fd()), unix.CLONE_NEWPID), ns.Close())
}

// open opens the namespace on another thread, because the calling one has another /proc.
func (f *initProcess) open() (ns *os.File, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ns, err = os.Open(fmt.Sprintf("/proc/%d/ns/pid_for_children", f.cmd.Process.Pid))
	}()
	<-done
	return ns, err
}

func (f *initProcess) kill() { _ = f.cmd.Process.Kill() }
func (f *initProcess) end()  { _ = f.stdin.Close() }

func (f *initProcess) close() {
	f.end()
	timer := time.AfterFunc(endDelay, f.kill)
	defer timer.Stop()
	_ = f.cmd.Wait() // how it ended says nothing
}
