// Command machine boots disposable Debian machines for scripts, as package debian does for tests.
//
// A machine lives as long as its command: end it with SIGTERM and it is shut down and removed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/fettle-dev/fettle/test/debian"
)

const usage = `usage: machine base                print the path of the Debian tree that machines start from
       machine boot [flags]        boot a machine and stay until SIGTERM
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "machine:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if os.Geteuid() != 0 {
		return errors.New("machines need root")
	}
	if len(args) == 0 {
		args = []string{""}
	}
	switch args[0] {
	case "base":
		return base(ctx, os.Stdout)
	case "boot":
		return boot(ctx, args[1:])
	default:
		return fmt.Errorf("cannot do %q\n%s", args[0], usage)
	}
}

func base(ctx context.Context, out io.Writer) error {
	dir, err := debian.Base(ctx, os.Stderr)
	if err == nil {
		_, err = fmt.Fprintln(out, dir)
	}
	return err
}

func boot(ctx context.Context, args []string) error {
	var spec debian.Spec
	flags := flag.NewFlagSet("machine boot", flag.ExitOnError)
	flags.StringVar(&spec.Hostname, "hostname", "", "the machine's name")
	flags.StringVar(&spec.Bridge, "bridge", "", "bridge, in this network namespace, to connect host0 to")
	flags.Func("layer", "tree to put over the base; again for one below it", func(dir string) error {
		spec.Layers = append(spec.Layers, dir)
		return nil
	})
	ready := flags.String("ready", "", "directory where pid and root are written once the machine is up")
	_ = flags.Parse(args) // It exits by itself.
	m, err := debian.Start(ctx, spec, os.Stderr)
	if err != nil {
		return err
	}
	if err := announce(m, *ready); err != nil {
		return errors.Join(err, m.Stop())
	}
	select {
	case <-ctx.Done():
		return m.Stop()
	case <-m.Done():
		return errors.Join(errors.New("the machine ended by itself"), m.Stop())
	}
}

// announce tells a script where the machine is: its root as a link, its PID last, in one step.
func announce(m *debian.Machine, dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.Symlink(m.Root(), filepath.Join(dir, "root")); err != nil {
		return err
	}
	pid := filepath.Join(dir, "pid")
	if err := os.WriteFile(pid+".new", fmt.Appendln(nil, m.PID()), 0o644); err != nil {
		return err
	}
	return os.Rename(pid+".new", pid)
}
