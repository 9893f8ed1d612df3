package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

func page(o options, all []result) string {
	var b strings.Builder
	fmt.Fprintf(&b, `## A fleet

What a change costs a fleet, and what a fleet costs to which nothing happens. Written by

    make bench-fleet

A real etcd and API server, the manager as users run it but for its own limit of requests (-kube-api-qps), and the agents
of all nodes in one process: the real ones, with a token of their node, on a host that is always as it should be. All of it
shares %d CPUs. The %d resources have %d targetings, of which the first selects every node and each other its share of them;
one in ten is rendered for each node. The change is of one resource that every node has.

| nodes | manager started to all in sync | fan-out, agents stopped | floor | to the floor | fan-out, agents at work | to the last status | patches | bytes a node | etcd grew | manager's CPU | manager's peak |
|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
`, runtime.NumCPU(), o.resources, o.groups)
	for _, r := range all {
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %.2f | %s | %s | %d | %d | %.1f MB | %s | %.0f MB |\n",
			r.nodes, seconds(r.start), seconds(r.fanOut.manager), seconds(r.fanOut.floor), r.fanOut.ratio(), seconds(r.patched), seconds(r.aggregated),
			r.patches, r.bytes/max(1, r.patches), r.etcd/1e6, seconds(r.cpu), float64(r.peak)/1024)
	}
	fmt.Fprintf(&b, `
The floor is a bare client that makes the same patches: as many, of the same size, as many at a time, on the same objects,
by the same way, a proxy that counts bytes. Both are measured %d times, in turn, and shown is the pair with the median ratio. Where agents are stopped, Leases last an hour, so that none falls silent. The status of a resource is written once in five seconds at most.

| nodes, quiet | requests a second a hundred nodes | of these writes | renewals of Leases beside that |
|--:|--:|--:|--:|
`, rounds)
	for _, r := range all {
		hundred := float64(r.nodes) / 100
		fmt.Fprintf(&b, "| %d | %.2f | %.2f | %.2f |\n", r.nodes, r.others/hundred, r.writes/hundred, r.leases/hundred)
	}
	return b.String()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
