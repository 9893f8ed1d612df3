package controlplane

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// A Process is a program that can be killed, started again, and stopped for a while. Safe for concurrent use.
type Process struct {
	Path     string
	Args     []string
	Out, Err io.Writer // nil is nowhere

	mu    sync.Mutex
	cmd   *exec.Cmd // nil before it was started
	ended chan struct{}
}

// Start starts it, and does not ask whether it runs already.
func (p *Process) Start() error {
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Stdout, cmd.Stderr = p.Out, p.Err
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C is for the test, which ends it
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	p.mu.Lock()
	p.cmd, p.ended = cmd, ended
	p.mu.Unlock()
	go func() {
		_ = cmd.Wait() // how it ended is not what is asked
		close(ended)
	}()
	return nil
}

// Ended is closed when it has, or was never started.
func (p *Process) Ended() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		never := make(chan struct{})
		close(never)
		return never
	}
	return p.ended
}

// Kill ends it at once, as when its machine fails, and returns when it is gone.
func (p *Process) Kill() { p.end(syscall.SIGKILL) }

// Stop asks it to end, and returns when it has.
func (p *Process) Stop() { p.end(syscall.SIGTERM) }

// Pause stops it where it is: its connections stay open, and nobody answers.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume lets it go on.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

func (p *Process) end(s os.Signal) {
	p.signal(s)
	p.Resume() // what is paused hears nothing else
	<-p.Ended()
}

func (p *Process) signal(s os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s) // it may be gone
	}
}
