// Package netns gives a test cluster a network of its own.
//
// The network is a namespace with a bridge, to which machines connect. It has no route to any other network. Outside, the
// API server can be reached on a loopback port, because a forwarder dials into the namespace.
package netns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host/linux/thread"
)

// A Namespace is a network namespace with a name, as `ip netns` creates it.
type Namespace struct{ Name string }

// Path is the file that the namespace is mounted on.
func (n Namespace) Path() string { return filepath.Join("/run/netns", n.Name) }

// Create creates the namespace. It fails if there is one of that name.
func (n Namespace) Create(ctx context.Context) error {
	if err := run(ctx, "ip", "netns", "add", n.Name); err != nil {
		return err
	}
	return n.Run(ctx, "ip", "link", "set", "lo", "up")
}

// Delete deletes the namespace. Without one it does nothing. It ends with the last process in it.
func (n Namespace) Delete(ctx context.Context) error {
	if _, err := os.Lstat(n.Path()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return run(ctx, "ip", "netns", "delete", n.Name)
}

// Kill kills the processes in the namespace, and returns when they have ended. Without a namespace it does nothing.
func (n Namespace) Kill(ctx context.Context) error {
	for {
		if _, err := os.Lstat(n.Path()); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		out, err := exec.CommandContext(ctx, "ip", "netns", "pids", n.Name).Output()
		if err != nil {
			return fmt.Errorf("cannot list the processes in the network namespace %s: %w", n.Name, err)
		}
		pids := strings.Fields(string(out))
		if len(pids) == 0 {
			return nil
		}
		for _, text := range pids {
			if pid, err := strconv.Atoi(text); err == nil {
				_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("processes in the network namespace %s do not end: %w", n.Name, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Bridge creates a bridge with an address such as 10.0.0.1/24.
func (n Namespace) Bridge(ctx context.Context, name, address string) error {
	for _, args := range [][]string{
		{"ip", "link", "add", name, "type", "bridge"},
		// With an address of its own the bridge does not take one from a port, which would change as machines come and go.
		{"ip", "link", "set", name, "address", "02:00:0a:00:00:01", "up"},
		{"ip", "address", "add", address, "dev", name},
		{"sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"},
	} {
		if err := n.Run(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// Run runs a command in the namespace. Mounts and cgroups stay those of the caller.
func (n Namespace) Run(ctx context.Context, command ...string) error {
	return run(ctx, n.Enter(command...)...)
}

// Enter returns the command line that runs a command in the namespace.
func (n Namespace) Enter(command ...string) []string {
	return append([]string{"nsenter", "--net=" + n.Path(), "--"}, command...)
}

func run(ctx context.Context, command ...string) error {
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("cannot run %s: %w: %s", strings.Join(command, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// Forward listens on a free port of this machine's loopback interface, and forwards connections to an address in the
// namespace until the listener is closed.
func (n Namespace) Forward(to string) (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return // it is closed
			}
			go n.connect(from, to)
		}
	}()
	return l, nil
}

func (n Namespace) connect(from net.Conn, address string) {
	defer from.Close() //nolint:errcheck // nobody waits for it
	to, err := n.dial(address)
	if err != nil {
		return // the client sees a closed connection
	}
	defer to.Close() //nolint:errcheck // nobody waits for it
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(from, to)
}

// dial connects to an IP address and port in the namespace.
func (n Namespace) dial(address string) (conn net.Conn, err error) {
	err = n.inside(func() (err error) {
		conn, err = net.Dial("tcp", address)
		return err
	})
	return conn, err
}

// Listen listens on an IP address and port in the namespace.
func (n Namespace) Listen(address string) (l net.Listener, err error) {
	err = n.inside(func() (err error) {
		l, err = net.Listen("tcp", address)
		return err
	})
	return l, err
}

// inside calls f on a thread that is in the namespace.
func (n Namespace) inside(f func() error) error {
	return thread.Run(func() error {
		ns, err := os.Open(n.Path())
		if err != nil {
			return err
		}
		defer ns.Close()
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		return f()
	})
}
