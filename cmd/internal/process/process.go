// Package process connects the programs for users, fettle and kubectl fettle, to their process: its streams, the hosts that it
// can open, and its exit code.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	_ "github.com/fettle-dev/fettle/cmd/internal/heap" // before what follows
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/program"
)

// Begin prepares a process that ends with its command: a closed pipe must not kill it. See pipe.
func Begin() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// Interruptible returns contexts for a command. The first signal ends run: a command finishes what it is at. The second
// signal ends abort, and the third kills the process.
func Interruptible() (run, abort context.Context) {
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

// Streams returns the standard streams.
func Streams() program.Streams {
	return program.Streams{
		In: os.Stdin, Out: pipe{os.Stdout}, Err: pipe{os.Stderr},
		OutTerminal: isTerminal(os.Stdout), ErrTerminal: isTerminal(os.Stderr),
		NoColor: os.Getenv("NO_COLOR") != "", Width: width(os.Stdout),
	}
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

// Code prints the error of a command, and returns its exit code.
func Code(err error) int {
	var exit output.Exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	}
	fmt.Fprintf(os.Stderr, "fettle: %s\n", program.Message(err))
	return 1
}
