// Package cli is the fettle command: the engine on one machine, without a cluster. As kubectl fettle, the program has the
// commands about the nodes of a cluster instead.
//
// [Command] takes the function that opens a host, so that everything else can be tested in process. Exit
// codes are errors of type [Exit].
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/fleet"
	"github.com/fettle-dev/fettle/internal/cli/history"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/facts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/internal/version"
)

// A Host is an open host.
type Host interface {
	host.Host
	host.Watcher
	io.Closer
}

// Options are the environment of the command.
type Options struct {
	Kinds []resource.Kind
	// OpenHost opens the host whose root is a directory.
	OpenHost func(root string) (Host, error)
	// OpenProcessHost opens the host that a process runs on. It is an error if this program runs there, too.
	OpenProcessHost func(pid int) (Host, error)
	// CopyOfRoot calls a function with the root of a copy of this machine's files, which it then removes; nil if that is not
	// possible.
	CopyOfRoot func(use func(root string) error) error
	// HostPID is the default of --host-pid; 0 is this machine.
	HostPID int
	// NodeName is the default of agent install --node-name.
	NodeName string
	// Kustomize builds the kustomization in a directory of this machine.
	Kustomize func(ctx context.Context, dir string) ([]byte, error)
	In        io.Reader
	// Abort ends when not even the current resource should be finished; nil never ends. The end
	// of a run's own context stops it after the current resource.
	Abort    context.Context //nolint:containedctx // it outlasts that of the call
	Out, Err io.Writer       // writing to a closed pipe must not be an error
	// Terminals get short sums, colors unless NoColor is set, and progress if Err is one.
	OutTerminal, ErrTerminal bool
	NoColor                  bool
	// Width is the number of columns of the terminal; 0 if there is none.
	Width int
	// Plugin means that the command was called as kubectl-fettle, and is kubectl fettle.
	Plugin bool
}

// An Exit is a nonzero exit code. All output was already printed.
type Exit = output.Exit

// app is the state that the subcommands share.
type app struct {
	Options
	place place
	out   *output.Printer
}

// Command returns the fettle command or, for a plugin, kubectl fettle.
func Command(o Options) *cobra.Command {
	a := &app{Options: o, place: place{pid: o.HostPID}, out: &output.Printer{
		Out: o.Out, Err: o.Err, OutTerminal: o.OutTerminal, ErrTerminal: o.ErrTerminal, ErrProgress: o.ErrTerminal,
	}}
	cmd, other := a.local(), fleet.Command(a.out, a.loader())
	if o.Plugin {
		cmd, other = other, cmd
	}
	addMoved(cmd, other)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.Version = version.String()
	cmd.SetIn(o.In)
	cmd.SetOut(o.Out)
	cmd.SetErr(o.Err)
	a.addOutput(cmd)
	return cmd
}

// local returns the commands that act on one machine.
func (a *app) local() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fettle",
		Short: "Bring a machine to the state that resources describe",
		Long: "fettle brings a machine to the state that resources describe: files, packages, users, services and more,\n" +
			"the same resources that a cluster applies to its nodes. fettle describe lists the kinds.",
		Example: "  fettle plan -f manifests/\n" +
			"  fettle apply -f manifests/\n" +
			"  fettle resource user root",
	}
	cmd.AddCommand(a.apply(), a.plan(), a.validate(), a.graph(), a.resource(), a.describe(), a.facts(), a.bucket(), a.disable(), a.enable(),
		a.types(), a.agent(), a.supportBundle(), a.version(), history.Command(a.out, history.Place{AddFlags: a.addStateDir, With: a.withStateDir}))
	return cmd
}

// loader reads the manifests of commands about a fleet.
func (a *app) loader() source.Loader {
	return source.Loader{Stdin: a.In, Kustomize: a.kustomize}
}

// Values of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// addOutput adds the flags for output to all subcommands.
func (a *app) addOutput(cmd *cobra.Command) {
	color := colorAuto
	cmd.PersistentFlags().StringVar(&color, "color", color, "auto (on a terminal, unless NO_COLOR is set or TERM is dumb), always or never")
	cmd.PersistentFlags().BoolVar(&a.out.Debugging, "debug", false, "log provider selection, property states, commands and timings to stderr; include resources with logLevel: debug")
	flags.Complete(cmd, "color", colorAuto, colorAlways, colorNever)
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error {
		a.out.OutColors = color == colorAlways || color != colorNever && a.OutTerminal && !a.NoColor
		a.out.ErrColors = color == colorAlways || color != colorNever && a.ErrTerminal && !a.NoColor
		return flags.OneOf("--color", color, colorAuto, colorAlways, colorNever)
	}
}

// gather gathers facts, and warns about those that are missing.
func (a *app) gather(ctx context.Context, h host.Reader) resource.Facts {
	all, errs := facts.Gather(ctx, h)
	a.out.Warnings(errs)
	return all
}

// Run executes the command with arguments. If something could not be written to Out, such as help or a
// report, the error says so, whatever else happened.
func Run(ctx context.Context, o Options, args []string) error {
	out := &checkedWriter{to: o.Out}
	o.Out = out
	cmd := Command(o)
	cmd.SetArgs(args)
	if o.Abort != nil {
		ctx = host.WithAbort(ctx, o.Abort)
	}
	err := cmd.ExecuteContext(ctx)
	if out.err == nil {
		return err
	}
	failure := fmt.Errorf("cannot write to standard output: %w", out.err)
	if _, silent := errors.AsType[Exit](err); silent || err == nil {
		return failure
	}
	return errors.Join(err, failure)
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
