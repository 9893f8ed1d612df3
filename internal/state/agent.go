package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// agentName is the name of the lock of the agent that acts on a host.
const agentName = "agent.lock"

// agentPoll is the interval at which a waiting agent tries again. It bounds how long a host is without an agent.
const agentPoll = 250 * time.Millisecond

// An AgentLock makes its owner the one agent that acts on a host: several may be installed, such as a pod and a service
// of the host. The kernel releases it when its process ends, in whatever way.
type AgentLock struct{ file *os.File }

// An AgentLockedError reports that another agent acts on the host.
type AgentLockedError struct{ Holder string } // the name that the other agent gave itself; may be empty

// Error names the other agent.
func (e *AgentLockedError) Error() string {
	if e.Holder == "" {
		return "another agent acts on this host"
	}
	return "another agent acts on this host: " + e.Holder
}

// TryLockAgent locks a state directory for an agent, and creates the directory if it is missing. holder names the agent
// to others. The error is an *AgentLockedError if another one has the lock.
func TryLockAgent(dir, holder string) (*AgentLock, error) {
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("cannot make the state directory %s: %w", dir, err)
	}
	name := filepath.Join(dir, agentName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the lock of agents: %w", freeSpace(dir, err))
	}
	if err := lockFile(f, name, holder); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &AgentLock{f}, nil
}

func lockFile(f *os.File, name, holder string) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return &AgentLockedError{Holder: holderOf(name)}
	}
	if err != nil {
		return fmt.Errorf("cannot lock %s: %w", name, err)
	}
	locked, err := f.Stat()
	if err != nil {
		return err
	}
	if there, err := os.Stat(name); err != nil || !os.SameFile(locked, there) { // the directory was purged meanwhile
		return &AgentLockedError{}
	}
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(holder+"\n"), 0) // the name is for people: a full disk must not stop the agent
	}
	return nil
}

// LockAgent is TryLockAgent that waits until no other agent acts on the host or ctx ends. waiting is called with the
// reason, whenever that changes.
func LockAgent(ctx context.Context, dir, holder string, waiting func(*AgentLockedError)) (*AgentLock, error) {
	var last *AgentLockedError
	ticker := time.NewTicker(agentPoll)
	defer ticker.Stop()
	for {
		lock, err := TryLockAgent(dir, holder)
		locked, wait := errors.AsType[*AgentLockedError](err)
		if !wait {
			return lock, err
		}
		if last == nil || *last != *locked {
			last = locked
			waiting(locked)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
		}
	}
}

// Unlock releases the lock.
func (l *AgentLock) Unlock() error { return l.file.Close() }

// ActingAgent returns the name of the agent that acts on the host with this state directory, and whether there is one.
func ActingAgent(dir string) (holder string, acts bool, err error) {
	name := filepath.Join(dir, agentName)
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("cannot open the lock of agents: %w", err)
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return holderOf(name), true, nil
	}
	return "", false, err
}

// holderOf reads the name of the agent that has the lock.
func holderOf(name string) string {
	const most = 200
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text := make([]byte, most)
	n, _ := f.Read(text)
	return strings.TrimSpace(string(text[:n]))
}
