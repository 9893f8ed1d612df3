// Command fettle brings one machine to the state that resources describe, without a cluster. Installed as kubectl-fettle, it
// is kubectl fettle, which is about the nodes of a cluster.
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
		OutTerminal: isTerminal(os.Stdout), ErrTerminal: isTerminal(os.Stderr),
		NoColor: os.Getenv("NO_COLOR") != "", Width: width(os.Stdout),
		Plugin: strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl-"),
	}, os.Args[1:])
	os.Exit(code(err))
}

// isTerminal reports whether a file is a terminal that understands more than text.
func isTerminal(f *os.File) bool { return os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd())) }

// width returns the number of columns of a terminal; 0 for other files.
func width(f *os.File) int {
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// interruptible returns contexts for a run. The first signal ends run: the current resource is finished. The second
// signal ends abort: its commands are killed, apart from those in a unit of systemd, which the next run waits for. The third
// kills this program.
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

// open opens a host, as the agent does: work that takes long runs in units of its systemd, and outlives this process.
func open(root string) (cli.Host, error) {
	return linux.Open(linux.Options{Root: root, Transient: true})
}

// openProcess opens the host of a process.
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
