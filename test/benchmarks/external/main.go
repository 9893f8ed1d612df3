// Command external measures how long it takes to read many resources of an external type that are in sync: with one process, with
// one process for each, and with a type of Puppet's.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/fettle-dev/fettle/test/benchmarks/chapter"
)

type options struct {
	records, runs int
	out           string
	// types and module are directories of this checkout.
	types, module string
}

func main() {
	o := options{records: 1000, runs: 5, types: "examples/dns", module: "test/benchmarks/external/puppet"}
	flag.IntVar(&o.records, "records", o.records, "how many records the zone has")
	flag.IntVar(&o.runs, "runs", o.runs, "runs of each kind but the slow ones, which run once")
	flag.StringVar(&o.out, "out", "", "Markdown document whose chapter is replaced; standard output if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-external:", err)
		defer os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	l, err := newLab(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		if failed := l.close(); err == nil {
			err = failed
		}
	}()
	rows, err := l.measure(ctx)
	if err != nil {
		return err
	}
	return chapter.Write(o.out, "external", page(o, rows))
}
