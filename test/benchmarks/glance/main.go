// Command glance measures what kubectl fettle tells about a fleet of three real machines and many simulated nodes. It needs root, and writes a
// chapter of docs/benchmarks.md, and the transcript of the commands.
package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
	"github.com/fettle-dev/fettle/test/suites/glance"
)

type options struct {
	programs   glance.Programs
	simulated  int
	calls      int
	transcript string
}

func main() {
	var o options
	flag.StringVar(&o.programs.Manager, "manager", "bin/manager", "the program manager")
	flag.StringVar(&o.programs.Agent, "agent", "bin/nodeagent", "the program nodeagent")
	flag.StringVar(&o.programs.Plugin, "plugin", "bin/kubectl-fettle", "the program kubectl-fettle")
	flag.IntVar(&o.simulated, "simulated", 5000, "how many nodes are simulated")
	flag.IntVar(&o.calls, "calls", 7, "how often each command is called; those that ask every node are called three times at most")
	flag.StringVar(&o.transcript, "transcript", "", "Markdown file whose transcript is updated (default: print it)")
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	bench.Main("glance", func(ctx context.Context, s *bench.Stage) string {
		f := glance.Start(ctx, s, o.programs, o.simulated)
		f.Drift(ctx)
		text := f.Transcript(ctx)
		chapter := page(o, measure(ctx, s, f, o.calls))
		s.Must(bench.WriteChapter(o.transcript, "transcript", fmt.Sprintf("<!-- not run: it needs %d nodes; test/suites/glance runs it with fewer -->\n```console\n%s```\n", o.simulated, text)))
		return chapter
	})
}
