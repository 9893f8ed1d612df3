// Package cli is the fettle command: the engine on one machine, with no cluster.
//
// [Command] is given how to open a host, so that everything but that can be tested
// in process. Exit codes are errors of type [Exit].
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/version"
)

// A Host is an open host.
type Host interface {
	host.Host
	host.Watcher
	io.Closer
}

// Options are what the command works on.
type Options struct {
	Kinds []resource.Kind
	// OpenHost opens the host whose root is a directory.
	OpenHost func(root string) (Host, error)
	// Kustomize builds the kustomization of a directory of this machine.
	Kustomize func(ctx context.Context, dir string) ([]byte, error)
	In        io.Reader
	// Abort ends when not even the resource in hand is to be finished; nil never ends. A run
	// is stopped, after that resource, by the end of its own context.
	Abort    context.Context //nolint:containedctx // it outlasts that of the call
	Out, Err io.Writer       // a pipe that nobody reads is no error of theirs
	// Terminals get colors, and progress where Err is one; but no colors if NoColor.
	OutTerminal, ErrTerminal bool
	NoColor                  bool
	// Plugin says that the command was called as kubectl-fettle: kubectl fettle.
	Plugin bool
}

// An Exit is an exit code that is not 0, after all was said.
type Exit int

// Error says the code.
func (e Exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// app is what the subcommands share.
type app struct {
	Options
	root     string
	color    string
	debug    bool
	talking  sync.Mutex
	progress bool // a line of progress is shown
}

// Command is fettle, which may be a plugin of kubectl.
func Command(o Options) *cobra.Command {
	a := &app{Options: o}
	cmd := &cobra.Command{
		Use:   "fettle",
		Short: "Keep a machine as resources describe it",
		Long: "fettle brings a machine to what resources say: files, packages, users, services and others, the same\n" +
			"ones that a cluster applies to its nodes. fettle describe lists them.",
		Example: "  fettle plan -f manifests/\n" +
			"  fettle apply -f manifests/\n" +
			"  fettle resource user root",
		SilenceUsage: true, SilenceErrors: true,
		Version: version.String(),
	}
	cmd.SetIn(o.In)
	cmd.SetOut(o.Out)
	cmd.SetErr(o.Err)
	a.addOutput(cmd)
	cmd.AddCommand(a.apply(), a.plan(), a.validate(), a.graph(), a.resource(), a.describe(), a.facts(), a.bucket(), a.disable(), a.enable())
	if o.Plugin {
		asPlugin(cmd)
	}
	return cmd
}

// asPlugin makes help speak of kubectl fettle.
func asPlugin(cmd *cobra.Command) {
	cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl fettle"}
	for _, c := range append(cmd.Commands(), cmd) {
		c.Example = strings.ReplaceAll(c.Example, "fettle ", "kubectl fettle ")
		if c != cmd {
			for _, sub := range c.Commands() {
				sub.Example = strings.ReplaceAll(sub.Example, "fettle ", "kubectl fettle ")
			}
		}
	}
}

// addRoot adds the flag that says which host.
func (a *app) addRoot(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.root, "root", "/", "directory that is the root of the host to work on; commands run chrooted in it")
	_ = cmd.MarkFlagDirname("root") // it was just added
}

// withHost opens the host for the time of f.
func (a *app) withHost(f func(h Host) error) error {
	if err := a.checkRoot(); err != nil {
		return err
	}
	h, err := a.OpenHost(a.root)
	if err != nil {
		return fmt.Errorf("cannot open the host: %w", err)
	}
	defer func() { _ = h.Close() }() // nothing is buffered
	return f(a.traced(h))
}

// checkRoot makes the root absolute.
func (a *app) checkRoot() error {
	root, err := filepath.Abs(a.root)
	if err != nil {
		return err
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return fmt.Errorf("--root %s is not a directory", a.root)
	}
	a.root = root
	return nil
}

// kind finds a type by its name in any case, or a plural of it.
func (a *app) kind(name string) (resource.Kind, error) {
	for _, k := range a.Kinds {
		if sameKind(k.Name(), name) {
			return k, nil
		}
	}
	return nil, fmt.Errorf("kind %q is not known; there are %s", name, kindNames(a.Kinds))
}

// gather reads the facts, and complains of those that can't be had.
func (a *app) gather(ctx context.Context, h host.Reader) resource.Facts {
	return a.complainOfFacts(gatherFacts(ctx, h))
}

func (a *app) complainOfFacts(facts resource.Facts, errs []error) resource.Facts {
	for _, err := range errs {
		a.complain("warning: %v", err)
	}
	return facts
}
