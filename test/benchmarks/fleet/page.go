package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

func page(o options, all []result) string {
	var b strings.Builder
	fmt.Fprintf(&b, `## A fleet

This chapter measures the cost of a change in a fleet, and of a fleet without changes. To reproduce it, run `+"`make bench-fleet`"+`.

It uses a real etcd and API server, the manager with a raised request limit (-kube-api-qps), and the agents of all nodes in one
process. The agents are real and use the tokens of their nodes, on hosts that are always in sync. Everything shares %d CPUs. The
%d resources have %d targetings: the first selects all nodes, each other one an equal share. One resource in ten is rendered
for each node. The change affects one resource that all nodes have.

| nodes | start to all in sync | fan-out, agents stopped | floor | relative to floor | fan-out, agents running | last status | patches | bytes per node | etcd growth | manager CPU | manager peak memory |
|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
`, runtime.NumCPU(), o.Resources, o.Groups)
	for _, r := range all {
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %.2f | %s | %s | %d | %d | %.1f MB | %s | %s |\n",
			r.nodes, bench.Seconds(r.start), bench.Seconds(r.fanOut.manager), bench.Seconds(r.fanOut.floor), r.fanOut.ratio(), bench.Seconds(r.patched), bench.Seconds(r.aggregated),
			r.patches, r.bytes/max(1, r.patches), r.etcd/1e6, bench.Seconds(r.cpu), bench.MB(r.peak))
	}
	fmt.Fprintf(&b, `
The floor is a client that only sends the same patches, with the same number, size, concurrency and objects, through the same
byte-counting proxy. Both are measured %d times alternately; the table shows the pair with the median ratio. While agents are
stopped, Leases last an hour, so that no node becomes silent. The status of a resource is written at most every five seconds until all nodes have the change.

| nodes, without changes | requests per second per 100 nodes | of these, writes | Lease renewals, in addition |
|--:|--:|--:|--:|
`, rounds)
	for _, r := range all {
		hundred := float64(r.nodes) / 100
		fmt.Fprintf(&b, "| %d | %.2f | %.2f | %.2f |\n", r.nodes, r.others/hundred, r.writes/hundred, r.leases/hundred)
	}
	return b.String()
}
