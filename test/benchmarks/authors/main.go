// Command authors measures how often the host finds out which process changed a file, if that process ends at once. It needs root, and
// writes a chapter of docs/benchmarks.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/fettle-dev/fettle/test/benchmarks/chapter"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	runs := flag.Int("runs", 500, "how often each command changes the file")
	out := flag.String("out", "", "Markdown file whose chapter about authors is updated (default: print it)")
	flag.Parse()
	if err := run(ctx, *runs, *out); err != nil {
		fmt.Fprintln(os.Stderr, "authors:", err)
		os.Exit(1) //nolint:gocritic // the process ends, and the signal handler with it
	}
}

func run(ctx context.Context, runs int, out string) error {
	var all []row
	for _, c := range commands() {
		quiet, err := measure(ctx, c.script, runs)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		end, err := busy(ctx, runtime.NumCPU())
		if err != nil {
			return err
		}
		loaded, err := measure(ctx, c.script, runs)
		end()
		if err != nil {
			return fmt.Errorf("%s, on a busy machine: %w", c.name, err)
		}
		all = append(all, row{c.name, quiet, loaded})
	}
	return chapter.Write(out, "authors", page(all, runs, runtime.NumCPU()))
}

// A command changes the file "managed" in its working directory, which contains "new", too.
type command struct{ name, script string }

func commands() []command {
	return []command{
		{"`echo x > file`", "echo x > managed"},
		{"`cp new file`", "cp new managed"},
		{"`mv new file`", "mv new managed"},
		{"`sed -i s/a/b/ file`", "sed -i s/a/b/ managed"},
		{"`chmod 600 file`", "chmod 600 managed"},
		{"`rm file`", "rm managed"},
		{"`install -m 600 new file`", "install -m 600 new managed"},
		{"an editor that saves: copy, write, rename", "cp managed managed~ && cp new .managed.swp && mv .managed.swp managed"},
	}
}
