package debian

import (
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A process runs in the background until it is stopped, or until this process dies.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended; err is set then
	err   error

	mu  sync.Mutex
	out boundedBuffer
}

// startProcess starts a command that gets SIGTERM when this process dies, however it does.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p, p
	cmd.WaitDelay = time.Second // What it started may hold its output open.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGTERM}
	started := make(chan error)
	go func() {
		// The kernel sends the signal when the thread that started the child ends, so that thread must stay.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// stop asks the process to end, and takes it down with kill when it has not after the limit.
func (p *process) stop(limit time.Duration, kill func()) {
	_ = p.cmd.Process.Signal(unix.SIGTERM) // An error means that it has ended already.
	select {
	case <-p.ended:
	case <-time.After(limit):
		kill()
		<-p.ended
	}
}

// Write takes the command's output.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

// output is what the process has written so far.
func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}
