// Command pods measures the pods of Fettle on a real cluster, installed from config/default: memory, processor time and requests
// while nothing changes, and the time from kubectl apply to the file on a node. `make bench-pods` writes the tables into
// docs/benchmarks.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/fettle-dev/fettle/test/benchmarks/chapter"
	"github.com/fettle-dev/fettle/test/cluster"
)

// options are the flags.
type options struct {
	idle    time.Duration
	changes int
	images  string
	out     string
}

func main() {
	if err := run(flags()); err != nil {
		fmt.Fprintln(os.Stderr, "pods:", err)
		os.Exit(1)
	}
}

func flags() (o options) {
	flag.DurationVar(&o.idle, "idle", 10*time.Minute, "how long to watch pods while nothing changes")
	flag.IntVar(&o.changes, "changes", 20, "how many changes of a File to measure")
	flag.StringVar(&o.images, "images", "dist/images", "directory with the archives of `make image`")
	flag.StringVar(&o.out, "out", "", "document to write the tables into (default standard output)")
	flag.Parse()
	return o
}

func run(o options) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	l, err := newLab(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
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
		fmt.Fprintln(os.Stderr, "pods:", step.what)
		if err := step.do(ctx, o, &r); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return chapter.Write(o.out, "pods", page(o, r))
}

// A lab is a cluster with an audit log.
type lab struct {
	*cluster.Cluster
	dir string
}

func newLab(ctx context.Context) (*lab, error) {
	dir, err := os.MkdirTemp("", "fettle-bench-pods-")
	if err != nil {
		return nil, err
	}
	l := &lab{dir: dir}
	audit, err := l.auditFlags()
	if err == nil {
		l.Cluster, err = cluster.Start(ctx, cluster.Options{
			Name: "fettle-bench", Nodes: []string{"node-1", "node-2", "node-3"}, Checkout: ".", APIServerFlags: audit, Progress: os.Stderr,
		})
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return l, nil
}

func (l *lab) close() error { return errors.Join(l.Stop(), os.RemoveAll(l.dir)) }
