// Command promise measures how often a plan is wrong: it plans and applies random manifests on hosts in random states, and plans again. It does
// the same with the noop and check modes of Puppet and Ansible, for a part of the pairs that has only resources that all three have.
//
// The pairs come from a seed. What was measured is written to a file line by line, so that a run that was stopped goes on.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

type options struct {
	seed                uint64
	pairs, fresh, peers int
	progress            string
	show                int
}

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 1, "of the pairs")
	flag.IntVar(&o.pairs, "pairs", 2000, "pairs of a manifest and a host")
	flag.IntVar(&o.fresh, "fresh", 2000, "pairs of the next seed, which nobody has corrected plans by")
	flag.IntVar(&o.peers, "peers", 200, "pairs for Puppet and Ansible")
	flag.StringVar(&o.progress, "progress", "", "file with what was measured, to go on with; none by default")
	flag.IntVar(&o.show, "show", -1, "number of the only pair to try, to print everything of it instead of the chapter")
	bench.Main("promise", func(ctx context.Context, s *bench.Stage) string {
		if o.show >= 0 {
			s.Must(show(ctx, os.Stdout, newPair(o.seed, o.show)))
			return ""
		}
		results, err := measure(ctx, o)
		s.Must(err)
		return page(o, results)
	})
}

// measure measures all pairs.
func measure(ctx context.Context, o options) ([]result, error) {
	log, err := openProgress(o)
	if err != nil {
		return nil, err
	}
	defer log.close()
	for n := range o.pairs {
		if err := log.measure(ctx, "fettle", n, func() (result, error) { return fettle(ctx, newPair(o.seed, n)) }); err != nil {
			return nil, err
		}
	}
	for n := range o.fresh {
		if err := log.measure(ctx, "fettle-fresh", n, func() (result, error) { return fettle(ctx, newPair(o.seed+1, n)) }); err != nil {
			return nil, err
		}
	}
	for n := range o.peers {
		p := newPair(o.seed, n, common()...)
		for _, peer := range []struct {
			name string
			try  func(context.Context, pair) (result, error)
		}{{"puppet", puppet}, {"ansible", ansible}, {"fettle-common", fettle}} {
			if err := log.measure(ctx, peer.name, n, func() (result, error) { return peer.try(ctx, p) }); err != nil {
				return nil, err
			}
		}
	}
	return log.results, nil
}

// fettle measures a pair.
func fettle(ctx context.Context, p pair) (result, error) {
	o, err := p.tryFettle(ctx)
	if err != nil {
		return result{}, err
	}
	r := result{Resources: len(p.resources), Unknown: o.Unknown(), Wrong: map[string]int{}}
	for _, b := range o.Breaches() {
		r.Wrong[string(b.Class)]++
		r.Told = append(r.Told, b.String())
	}
	for _, res := range o.Plan.Resources {
		r.Planned = addTo(r.Planned, string(res.State))
	}
	return r, nil
}

func addTo(counts map[string]int, key string) map[string]int {
	if counts == nil {
		counts = map[string]int{}
	}
	counts[key]++
	return counts
}

// show prints everything of a pair.
func show(ctx context.Context, out io.Writer, p pair) error {
	for _, s := range p.state {
		fmt.Fprintln(out, "host:", s)
	}
	for _, d := range p.resources {
		fmt.Fprintln(out, "resource:", d.ref(), d.attributes, d.require)
	}
	o, err := p.tryFettle(ctx)
	if err != nil {
		return err
	}
	for _, r := range o.Plan.Resources {
		fmt.Fprintln(out, "plan: ", r.Ref, r.State, r.Lines(), r.Unknown)
	}
	for _, r := range o.Apply.Resources {
		fmt.Fprintln(out, "apply:", r.Ref, r.State, r.Lines())
	}
	for _, r := range o.Next.Resources {
		fmt.Fprintln(out, "next: ", r.Ref, r.State, r.Lines(), r.Unknown)
	}
	for _, b := range o.Breaches() {
		fmt.Fprintln(out, "wrong:", b)
	}
	return nil
}
