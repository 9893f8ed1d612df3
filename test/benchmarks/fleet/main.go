// Command fleet measures a manager and its nodes as they grow: a real etcd and API server, the manager as users run it,
// and so many nodes whose agents are the real ones, in this process and on a host that is always as it should be.
//
// What is measured is one changed resource that every node has, and an hour in which nothing happens cut down to a
// minute. Beside it, in the same run, the floor: a bare client that makes the same patches at the same parallelism.
// `make bench-fleet` writes the tables into docs/benchmarks.md.
package main

import (
	"context"
	"flag"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
	"github.com/fettle-dev/fettle/test/benchmarks/simulated"
)

// options are the flags.
type options struct {
	simulated.Options
	nodes bench.Counts
	quiet time.Duration
}

func main() {
	o := options{nodes: bench.Counts{100, 1000, 5000}}
	flag.Var(&o.nodes, "nodes", "how many nodes, one line each")
	flag.IntVar(&o.Resources, "resources", 500, "how many resources, one in ten of them rendered for each node")
	flag.IntVar(&o.Groups, "groups", 20, "how many targetings they have: the first selects every node, each other its share")
	flag.DurationVar(&o.quiet, "quiet", time.Minute, "how long to watch a fleet to which nothing happens")
	flag.StringVar(&o.Manager, "manager", "bin/manager", "the program to measure")
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	bench.Main("fleet", func(ctx context.Context, s *bench.Stage) string {
		var all []result
		for _, n := range o.nodes {
			r, err := measure(ctx, o, n)
			s.Must(err)
			s.Logf("%+v", r)
			all = append(all, r)
		}
		return page(o, all)
	})
}
