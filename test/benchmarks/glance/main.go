// Command glance measures what kubectl fettle tells about a fleet of three real machines and many simulated nodes. It needs root, and writes a
// chapter of docs/benchmarks.md, and the transcript of the commands.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fettle-dev/fettle/test/benchmarks/chapter"
	"github.com/fettle-dev/fettle/test/benchmarks/stage"
	"github.com/fettle-dev/fettle/test/suites/glance"
)

type options struct {
	programs        glance.Programs
	simulated       int
	calls           int
	out, transcript string
}

func main() {
	var o options
	flag.StringVar(&o.programs.Manager, "manager", "bin/manager", "the program manager")
	flag.StringVar(&o.programs.Agent, "agent", "bin/nodeagent", "the program nodeagent")
	flag.StringVar(&o.programs.Fettle, "fettle", "bin/fettle", "the program fettle")
	flag.IntVar(&o.simulated, "simulated", 5000, "how many nodes are simulated")
	flag.IntVar(&o.calls, "calls", 7, "how often each command is called; those that ask every node are called three times at most")
	flag.StringVar(&o.out, "out", "", "Markdown file whose chapter about the commands is updated (default: print it)")
	flag.StringVar(&o.transcript, "transcript", "", "Markdown file whose transcript is updated (default: print it)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "glance:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	var text string
	var r results
	err := stage.On("glance", func(s *stage.Stage) {
		f := glance.Start(ctx, s, o.programs, o.simulated)
		f.Drift(ctx)
		text = f.Transcript(ctx)
		r = measure(ctx, s, f, o.calls)
	})
	if err != nil {
		return err
	}
	if err := chapter.Write(o.transcript, "transcript", "<!-- not run: it needs "+fmt.Sprint(o.simulated)+" nodes; test/suites/glance runs it with fewer -->\n```console\n"+text+"```\n"); err != nil {
		return err
	}
	return chapter.Write(o.out, "glance", page(o, r))
}
