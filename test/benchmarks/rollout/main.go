// Command rollout measures a change that a RolloutPolicy paces, beside the same change without a policy: a real etcd and API
// server, the manager as users run it, and simulated nodes. It also counts the nodes that bad changes reach, by a clock
// that it sets, since no benchmark has hours. `make bench-rollout` writes the tables into docs/benchmarks.md.
package main

import (
	"context"
	"flag"

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
	hit   int
	tries int
}

func main() {
	o := options{nodes: bench.Counts{1000, 5000}}
	flag.Var(&o.nodes, "nodes", "how many nodes, two lines each")
	flag.IntVar(&o.Resources, "resources", 500, "how many resources, one in ten of them rendered for each node")
	flag.IntVar(&o.Groups, "groups", 20, "how many targetings they have: the first selects every node, each other its share")
	flag.StringVar(&o.Manager, "manager", "bin/manager", "the program to measure")
	flag.IntVar(&o.hit, "hit", 1000, "how many nodes bad changes could reach")
	flag.IntVar(&o.tries, "tries", 20, "how often each bad change is made, with other nodes in turn")
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	bench.Main("rollout", func(ctx context.Context, s *bench.Stage) string {
		var all []result
		for _, n := range o.nodes {
			r, err := measure(ctx, o, n)
			s.Must(err)
			s.Logf("%+v", r)
			all = append(all, r)
		}
		return page(o, all, hits(o.hit, o.tries))
	})
}
