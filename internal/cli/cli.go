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

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/version"
)

// A Host is an open host.
type Host interface {
	host.Host
	io.Closer
}

// Options are what the command works on.
type Options struct {
	Kinds []resource.Kind
	// OpenHost opens the host whose root is a directory.
	OpenHost func(root string) (Host, error)
	In       io.Reader
	Out, Err io.Writer // a pipe that nobody reads is no error of theirs
	// Terminal says that Out is one: colors may be used.
	Terminal bool
}

// An Exit is an exit code that is not 0, after all was said.
type Exit int

// Error says the code.
func (e Exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// app is what the subcommands share.
type app struct {
	Options
	root string
}

// Command is fettle. Its name follows that of the program: kubectl-fettle is a
// plugin of kubectl.
func Command(o Options) *cobra.Command {
	a := &app{Options: o}
	cmd := &cobra.Command{
		Use:   "fettle",
		Short: "Keep a machine as resources describe it",
		Long: "fettle brings a machine to what File, Package, User, Group and SystemService resources say,\n" +
			"the same ones that a cluster applies to its nodes.",
		SilenceUsage: true, SilenceErrors: true,
		Version: version.String(),
	}
	cmd.SetIn(o.In)
	cmd.SetOut(o.Out)
	cmd.SetErr(o.Err)
	cmd.AddCommand(a.apply(), a.plan(), a.validate(), a.resource(), a.describe(), a.facts(), a.bucket(), a.disable(), a.enable())
	return cmd
}

// addRoot adds the flag that says which host.
func (a *app) addRoot(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.root, "root", "/", "directory that is the root of the host to work on; commands run chrooted in it")
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
	return f(h)
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

// completeKind tells shells the kinds, for the first word.
func (a *app) completeKind(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var kinds []cobra.Completion
	for _, k := range a.Kinds {
		kinds = append(kinds, strings.ToLower(k.Name()))
	}
	return kinds, cobra.ShellCompDirectiveNoFileComp
}

// say writes a line to Out, for people: what can't be written does not stop a run.
func (a *app) say(format string, args ...any) { _, _ = fmt.Fprintf(a.Out, format+"\n", args...) }

// complain writes a line to Err.
func (a *app) complain(format string, args ...any) { _, _ = fmt.Fprintf(a.Err, format+"\n", args...) }

// gather reads the facts, and complains of those that can't be had.
func (a *app) gather(ctx context.Context, h host.Reader) resource.Facts {
	facts, errs := gatherFacts(ctx, h)
	for _, err := range errs {
		a.complain("warning: %v", err)
	}
	return facts
}
