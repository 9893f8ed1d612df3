// Command fettle keeps one machine as resources describe it, with no cluster. It is
// also installed as kubectl-fettle.
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
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/providers"
)

func main() {
	if os.Getenv("GOGC") == "" {
		// Most of what a run allocates it keeps until it ends, and the process with it: to
		// collect garbage as often as by default costs a fifth of its processor time.
		debug.SetGCPercent(400)
	}
	// Files get the modes that resources say, whatever shell started us.
	syscall.Umask(0o022)
	run, abort := interruptible()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // see pipe
	err := cli.Run(run, cli.Options{
		Kinds:    providers.Kinds(),
		OpenHost: open, Kustomize: kustomize,
		Abort: abort,
		In:    os.Stdin, Out: pipe{os.Stdout}, Err: pipe{os.Stderr},
		OutTerminal: term.IsTerminal(int(os.Stdout.Fd())), ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		NoColor: os.Getenv("NO_COLOR") != "",
		Plugin:  strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl-"),
	}, os.Args[1:])
	os.Exit(code(err))
}

// interruptible are contexts for a run: the first signal ends run, after which the resource
// in hand is finished; the second ends abort, which kills its commands as well; the third
// kills this program. Work that may outlive it, such as that of dpkg, goes on.
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

// A pipe may lose its reader, as head leaves when it has enough: that must not kill a
// run halfway.
type pipe struct{ io.Writer }

// Write takes all that nobody reads.
func (p pipe) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		return len(b), nil
	}
	return n, err
}

func open(root string) (cli.Host, error) { return linux.Open(linux.Options{Root: root}) }

// code tells what went wrong and returns the exit code.
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
