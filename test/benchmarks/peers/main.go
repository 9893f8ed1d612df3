// Command bench measures fettle beside Puppet and CFEngine, on the same state of the same disposable Debian root.
//
// All of them run chrooted in that root, one after the other, so that each has the machine to itself; the floor does
// no more than to read what all of them must read. `make bench-peers` writes the tables into docs/benchmarks.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/fettle-dev/fettle/test/benchmarks/chapter"
	"github.com/fettle-dev/fettle/test/benchmarks/counts"
)

// options are the flags.
type options struct {
	files      counts.List
	runs, cold int
	peers      bool
	fettle     string // directory of the binaries fettle, nodeagent, floor and meter
	out        string
}

func main() {
	if err := run(flags()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func flags() options {
	o := options{files: counts.List{1000, 10000}}
	flag.Var(&o.files, "files", "how many files, one table each")
	flag.IntVar(&o.runs, "runs", 9, "runs in sync of each program")
	flag.IntVar(&o.cold, "cold", 3, "first convergences of each program")
	flag.BoolVar(&o.peers, "peers", true, "measure Puppet and CFEngine too, which are downloaded into the root")
	flag.StringVar(&o.fettle, "bin", "bin", "directory of the binaries fettle, nodeagent, floor and meter")
	flag.StringVar(&o.out, "out", "", "document to write the tables into (default standard output)")
	flag.Parse()
	return o
}

func run(o options) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	lab, err := openLab(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		if removeErr := lab.remove(); err == nil {
			err = removeErr
		}
	}()
	var tables []table
	if err := lab.keepAccounts(); err != nil {
		return err
	}
	for _, files := range o.files {
		t, err := lab.measure(ctx, files, o)
		if err != nil {
			return err
		}
		tables = append(tables, t)
	}
	return chapter.Write(o.out, "peers", page(lab, o, tables))
}
