// Command drift measures how soon the agent corrects drift, beside a bare loop over inotify that rewrites files. It needs root, and writes a
// chapter of docs/benchmarks.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/fettle-dev/fettle/test/benchmarks/chapter"
	"github.com/fettle-dev/fettle/test/benchmarks/stage"
)

type options struct {
	agent                  string // the program
	files, changes, rounds int
	busy                   time.Duration
	out                    string
}

func main() {
	var o options
	flag.StringVar(&o.agent, "agent", "bin/nodeagent", "the program nodeagent")
	flag.IntVar(&o.files, "files", 1000, "how many files are managed")
	flag.IntVar(&o.changes, "changes", 500, "how often one of them is changed")
	flag.IntVar(&o.rounds, "rounds", 20, "how often the user, the service and the package are changed")
	flag.DurationVar(&o.busy, "busy", 20*time.Second, "how long unrelated files are changed")
	flag.StringVar(&o.out, "out", "", "Markdown file whose chapter about drift is updated (default: print it)")
	bare := flag.String("bare", "", "be the bare loop over the files in this directory, instead of measuring")
	flag.Parse()
	if *bare != "" {
		end(rewrite(*bare))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, o)
	stop()
	end(err)
}

// end ends the process.
func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "drift:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(ctx context.Context, o options) error {
	var r results
	if err := stage.On("drift", func(s *stage.Stage) { r = measure(ctx, newLab(ctx, s, o)) }); err != nil {
		return err
	}
	return chapter.Write(o.out, "drift", page(r, o))
}
