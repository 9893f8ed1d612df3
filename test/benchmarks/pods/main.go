// Command pods measures the pods of Fettle on a real cluster, installed from config/default: memory, processor time and requests
// while nothing changes, and the time from kubectl apply to the file on a node. `make bench-pods` writes the tables into
// docs/benchmarks.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
	"github.com/fettle-dev/fettle/test/cluster"
)

// options are the flags.
type options struct {
	idle    time.Duration
	changes int
	images  string
}

func main() {
	var o options
	flag.DurationVar(&o.idle, "idle", 10*time.Minute, "how long to watch pods while nothing changes")
	flag.IntVar(&o.changes, "changes", 20, "how many changes of a File to measure")
	flag.StringVar(&o.images, "images", "dist/images", "directory with the archives of `make image`")
	bench.Main("pods", func(ctx context.Context, s *bench.Stage) string {
		l := newLab(ctx, s)
		var r result
		for _, step := range []struct {
			what string
			do   func(context.Context, options, *result) error
		}{
			{"sizes of images", imageSizes},
			{"installation", l.install},
			{"resources", l.applyResources},
			{"changes", l.measureChanges},
			{"idle pods", l.measureIdle},
		} {
			s.Logf("%s", step.what)
			if err := step.do(ctx, o, &r); err != nil {
				s.Must(fmt.Errorf("%s: %w", step.what, err))
			}
		}
		return page(o, r)
	})
}

// A lab is a cluster with an audit log.
type lab struct {
	*cluster.Cluster
	stage *bench.Stage
	dir   string
}

func newLab(ctx context.Context, s *bench.Stage) *lab {
	l := &lab{stage: s, dir: s.TempDir("")}
	audit, err := l.auditFlags()
	s.Must(err)
	l.Cluster, err = cluster.Start(ctx, cluster.Options{
		Name: "fettle-bench", Nodes: []string{"node-1", "node-2", "node-3"}, Checkout: ".", APIServerFlags: audit, Progress: os.Stderr,
	})
	s.Must(err)
	s.Cleanup(func() { s.Warn(l.Stop()) })
	return l
}
