// Command drift measures how soon the agent and fettle apply --watch correct drift, beside a bare loop over inotify that rewrites files. It needs root, and writes a
// chapter of docs/benchmarks.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

type options struct {
	agent, fettle          string // the programs
	files, changes, rounds int
	busy                   time.Duration
}

// asBareLoop is the first argument of this program if it is the bare loop over the files in a directory.
const asBareLoop = "bare-loop"

func main() {
	if len(os.Args) == 3 && os.Args[1] == asBareLoop {
		fmt.Fprintln(os.Stderr, "drift:", rewrite(os.Args[2]))
		os.Exit(1)
	}
	var o options
	flag.StringVar(&o.agent, "agent", "bin/nodeagent", "the program nodeagent")
	flag.StringVar(&o.fettle, "fettle", "bin/fettle", "the program fettle")
	flag.IntVar(&o.files, "files", 1000, "how many files are managed")
	flag.IntVar(&o.changes, "changes", 500, "how often one of them is changed")
	flag.IntVar(&o.rounds, "rounds", 20, "how often the user, the service and the package are changed")
	flag.DurationVar(&o.busy, "busy", 20*time.Second, "how long unrelated files are changed")
	bench.Main("drift", func(ctx context.Context, s *bench.Stage) string {
		return page(measure(ctx, newLab(ctx, s, o)), o)
	})
}
