// Package program runs the command line of a program: fettle or kubectl fettle.
//
// It has what the two share around their commands: streams, the flags for output, the version, and how errors are printed.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/internal/version"
)

// Streams are the standard streams of a program.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer // writing to a closed pipe must not be an error
	// Terminals get short sums, colors unless NoColor is set, and progress if Err is one.
	OutTerminal, ErrTerminal bool
	NoColor                  bool
	// Width is the number of columns of the terminal; 0 if there is none.
	Width int
}

// A Build returns the root command of a program, whose commands print with a printer.
type Build func(Streams, *output.Printer) *cobra.Command

// Command builds a root command, and adds what all programs have.
func Command(s Streams, build Build) *cobra.Command {
	out := &output.Printer{Out: s.Out, Err: s.Err, OutTerminal: s.OutTerminal, ErrTerminal: s.ErrTerminal, ErrProgress: s.ErrTerminal}
	cmd := build(s, out)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.Version = version.String()
	cmd.SetIn(s.In)
	cmd.SetOut(s.Out)
	cmd.SetErr(s.Err)
	addOutput(cmd, s, out)
	return cmd
}

// Run executes a command with arguments. If something could not be written to Out, such as help or a
// report, the error says so, whatever else happened.
func Run(ctx context.Context, s Streams, args []string, build Build) error {
	out := &checkedWriter{to: s.Out}
	s.Out = out
	cmd := Command(s, build)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if out.err == nil {
		return err
	}
	failure := fmt.Errorf("cannot write to standard output: %w", out.err)
	if _, silent := errors.AsType[output.Exit](err); silent || err == nil {
		return failure
	}
	return errors.Join(err, failure)
}

// Values of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// addOutput adds the flags for output to all subcommands.
func addOutput(cmd *cobra.Command, s Streams, out *output.Printer) {
	color := colorAuto
	cmd.PersistentFlags().StringVar(&color, "color", color, "auto (on a terminal, unless NO_COLOR is set or TERM is dumb), always or never")
	cmd.PersistentFlags().BoolVar(&out.Debugging, "debug", false, "log provider selection, property states, commands and timings to stderr; include resources with logLevel: debug")
	flags.Complete(cmd, "color", colorAuto, colorAlways, colorNever)
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error {
		out.OutColors = color == colorAlways || color != colorNever && s.OutTerminal && !s.NoColor
		out.ErrColors = color == colorAlways || color != colorNever && s.ErrTerminal && !s.NoColor
		return flags.OneOf("--color", color, colorAuto, colorAlways, colorNever)
	}
}

// A checkedWriter remembers the first error, and writes nothing after it.
type checkedWriter struct {
	to  io.Writer
	mu  sync.Mutex
	err error
}

// Write implements [io.Writer].
func (w *checkedWriter) Write(p []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		n, w.err = w.to.Write(p)
	}
	return n, w.err
}

// Message is an error for a terminal: a line for each joined error.
func Message(err error) string {
	lines := text.Errors(err)
	for i, l := range lines {
		lines[i] = text.Line(l)
	}
	return strings.Join(lines, "\n")
}
