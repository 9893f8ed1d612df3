// Command authors measures how often the host finds out which process changed a file, if that process ends at once. It needs root, and
// writes a chapter of docs/benchmarks.md.
package main

import (
	"context"
	"flag"
	"runtime"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

func main() {
	runs := flag.Int("runs", 500, "how often each command changes the file")
	bench.Main("authors", func(ctx context.Context, s *bench.Stage) string {
		var all []row
		for _, c := range commands() {
			idle := measure(ctx, s, c.script, *runs)
			end := busy(ctx, s, runtime.NumCPU())
			all = append(all, row{c.name, idle, measure(ctx, s, c.script, *runs)})
			end()
		}
		return page(all, *runs, runtime.NumCPU())
	})
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
