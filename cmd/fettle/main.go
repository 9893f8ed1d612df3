// Command fettle brings one machine to the state that resources describe, without a cluster. It is also installed as
// kubectl-fettle.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/providers"
)

func main() {
	if os.Getenv("GOGC") == "" {
		// A run retains most of its allocations until the process ends. Collecting garbage at the default rate takes a
		// fifth of the processor time.
		debug.SetGCPercent(400)
	}
	// Files get the modes of their resources, whatever the umask of the shell.
	syscall.Umask(0o022)
	run, abort := interruptible()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // see pipe
	pid, err := hostPID(os.Getenv(hostPIDVariable))
	if err != nil {
		os.Exit(code(err))
	}
	err = cli.Run(run, cli.Options{
		Kinds:    providers.Kinds(),
		OpenHost: open, OpenProcessHost: openProcess, HostPID: pid, NodeName: os.Getenv("NODE_NAME"), Kustomize: kustomize,
		CopyOfRoot: copyOfRoot,
		Abort:      abort,
		In:         os.Stdin, Out: pipe{os.Stdout}, Err: pipe{os.Stderr},
		OutTerminal: term.IsTerminal(int(os.Stdout.Fd())), ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		NoColor: os.Getenv("NO_COLOR") != "",
		Plugin:  strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl-"),
	}, os.Args[1:])
	os.Exit(code(err))
}

// interruptible returns contexts for a run. The first signal ends run: the current resource is finished. The second
// signal ends abort: its commands are killed. The third kills this program. Detached work, such as dpkg, continues.
func interruptible() (run, abort context.Context) {
	run, stop := context.WithCancel(context.Background())
	abort, kill := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-signals
		stop()
		<-signals
		kill()
		signal.Reset(syscall.SIGINT, syscall.SIGTERM)
	}()
	return run, abort
}

// A pipe may lose its reader, such as head. That must not kill a run halfway.
type pipe struct{ io.Writer }

// Write discards output that nobody reads.
func (p pipe) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		return len(b), nil
	}
	return n, err
}

func open(root string) (cli.Host, error) { return linux.Open(linux.Options{Root: root}) }

// openProcess opens the host of a process. Work that takes long runs in units of that host, because the container may
// end before it, and its limits are for the agent.
func openProcess(pid int) (cli.Host, error) {
	if err := linux.CheckProcess(pid); err != nil {
		return nil, err
	}
	return linux.Open(linux.Options{PID: pid, Transient: true})
}

// hostPIDVariable names the environment variable with the default of --host-pid. It is set in the agent's pod.
const hostPIDVariable = "FETTLE_HOST_PID"

// hostPID parses the variable; 0 if it is empty.
func hostPID(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	pid, err := strconv.Atoi(text)
	if err != nil || pid < 0 {
		return 0, fmt.Errorf("%s=%q is not a process: set it to 1 in a pod with hostPID, or unset it", hostPIDVariable, text)
	}
	return pid, nil
}

// code prints the error and returns the exit code.
func code(err error) int {
	var exit cli.Exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	}
	fmt.Fprintf(os.Stderr, "fettle: %s\n", cli.Message(err))
	return 1
}
