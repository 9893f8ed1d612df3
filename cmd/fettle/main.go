// Command fettle keeps one machine as resources describe it, with no cluster. It is
// also installed as kubectl-fettle.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/providers"
)

func main() {
	// Files get the modes that resources say, whatever shell started us.
	syscall.Umask(0o022)
	// On a signal the resource in hand is finished, then the run ends.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := cli.Command(cli.Options{
		Kinds:    providers.Kinds(),
		OpenHost: open,
		In:       os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Terminal: term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "",
	}).ExecuteContext(ctx)
	stop()
	os.Exit(code(err))
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
	fmt.Fprintf(os.Stderr, "fettle: %v\n", err)
	return 1
}
