// Package probe answers the kubelet's probes of an agent over a Unix socket.
//
// An agent that listens on a port depends on the pod network, so a broken CNI would kill it while it repairs the host.
// The kubelet instead executes a command in the container, which asks the agent over a socket in a volume of the pod.
// The socket's mode admits only the agent's own user.
package probe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/text"
)

// DefaultSocket is the path of the socket in a pod.
const DefaultSocket = "/run/fettle/agent.sock"

// timeout is the longest time that a question and its answer take.
const timeout = 5 * time.Second

// maxLine is the maximum length of a question or an answer, in bytes.
const maxLine = 1024

// passed is the answer of a check without an error.
const passed = "ok"

// Checks are functions by name. They return an error if the check fails, and are called concurrently.
type Checks map[string]func() error

// Serve answers until ctx ends. It replaces a socket that an earlier process left behind.
func Serve(ctx context.Context, socket string, checks Checks) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) { //nolint:forbidigo // in the pod, not on the host
		return fmt.Errorf("cannot replace the probe socket: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("cannot listen for probes: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	if err := os.Chmod(socket, 0o600); err != nil { //nolint:forbidigo // in the pod, not on the host
		return errors.Join(fmt.Errorf("cannot protect the probe socket: %w", err), listener.Close())
	}
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot accept probes: %w", err)
		}
		go answer(conn, checks)
	}
}

// answer reads the name of a check and writes its result.
func answer(conn net.Conn, checks Checks) {
	defer conn.Close()                            //nolint:errcheck // the other side reports it
	_ = conn.SetDeadline(time.Now().Add(timeout)) // fails only on a closed connection
	name, err := line(conn)
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, verdict(name, checks)+"\n")
}

func verdict(name string, checks Checks) string {
	check, ok := checks[name]
	if !ok {
		return fmt.Sprintf("unknown probe %q", text.Clip(name, 40))
	}
	if err := check(); err != nil {
		return text.Clip(text.Line(err.Error()), maxLine/2)
	}
	return passed
}

func line(from io.Reader) (string, error) {
	got, err := bufio.NewReader(io.LimitReader(from, maxLine)).ReadString('\n')
	return strings.TrimSuffix(got, "\n"), err
}

// Ask asks the agent that serves a socket for the result of a check. The error says why the check failed, or why there
// is no answer.
func Ask(ctx context.Context, socket, check string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("the agent does not answer: %w", err)
	}
	defer conn.Close() //nolint:errcheck // the answer is complete, or an error was returned
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return fmt.Errorf("cannot ask the agent: %w", err)
	}
	if _, err := io.WriteString(conn, check+"\n"); err != nil {
		return fmt.Errorf("cannot ask the agent: %w", err)
	}
	result, err := line(conn)
	if err != nil {
		return fmt.Errorf("the agent does not answer: %w", err)
	}
	if result != passed {
		return errors.New(result)
	}
	return nil
}
