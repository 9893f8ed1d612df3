// Command peers measures fettle beside Puppet and CFEngine, on the same state of the same disposable Debian root.
//
// All of them run chrooted in that root, one after the other, so that each has the machine to itself; the floor does
// no more than to read what all of them must read. `make bench-peers` writes the tables into docs/benchmarks.md.
package main

import (
	"context"
	"flag"
	"strings"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

// options are the flags.
type options struct {
	files      bench.Counts
	runs, cold int
	peers      bool
	fettle     string // directory of the binaries fettle, nodeagent, floor and meter
}

func main() {
	o := options{files: bench.Counts{1000, 10000}}
	flag.Var(&o.files, "files", "how many files, one table each")
	flag.IntVar(&o.runs, "runs", 9, "runs in sync of each program")
	flag.IntVar(&o.cold, "cold", 3, "first convergences of each program")
	flag.BoolVar(&o.peers, "peers", true, "measure Puppet and CFEngine too, which are downloaded into the root")
	flag.StringVar(&o.fettle, "bin", "bin", "directory of the binaries fettle, nodeagent, floor and meter")
	bench.Main("peers", func(ctx context.Context, s *bench.Stage) string {
		l := openLab(ctx, s, o)
		l.keepAccounts()
		var tables []table
		for _, files := range o.files {
			tables = append(tables, l.measure(ctx, files, o))
		}
		var summary strings.Builder
		summarySection(&summary, tables)
		s.Logf("%s", summary.String())
		return page(l, o, tables)
	})
}
