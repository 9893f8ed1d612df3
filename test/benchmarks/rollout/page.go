package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

const intro = `## A rollout

This chapter measures the cost of a change that a RolloutPolicy paces, and counts the nodes that bad changes reach. To reproduce it,
run ` + "`make bench-rollout`" + `, which takes three quarters of an hour: most of that time, nodes soak.

It uses the [fleet](#a-fleet) of the other chapter: a real etcd and API server, the manager with a raised request limit, and the real agents of all
nodes in one process, on hosts that are always in sync. Everything shares %d CPUs. The change affects one of %d resources, which all nodes have. Without
policies, the time is that until the resource is Ready. With %d that share the nodes, it is that until all rollouts are completed. The policies have the
defaults, except that nodes soak for %.0f s, the least that is accepted.

| nodes | policies | time | waves | soaks | time beyond | NodeCatalog patches per node | writes of a policy's status, at most | at least apart | manager CPU | manager peak memory |
|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
`

const between = `
A wave is a step in which further nodes get the change: at most four for each node that has proven it, and never more than maxInFlight at the same
time. The time beyond the soaks has the 10 s for which nothing may have been edited before a rollout begins, and for each wave the time in which its
nodes apply the change and in which the manager notices: it writes the status of a policy at most every %.0f seconds, before it moves
nodes. Each row has a manager of its own, which was started before the change.

### Bad changes

Each bad change is made %d times, each time with other nodes as the first ones, in a fleet of %d nodes with the default policy: %s. These
numbers are simulated. The decisions are those of the manager, but the clock, the nodes and what they report are the benchmark's, because the
real time would be hours. A node applies what it gets within %.0f s. A failure counts once it has lasted for a minute, and a disconnected
node once its Lease has expired. Without a policy, each change reaches all %[3]d nodes.

| the change | nodes that get it | time until the rollout halts |
|---|--:|--:|
`

const outro = `
A change that breaks within the soak reaches the first node only. One that breaks later, or on few nodes, reaches more: the rollout only learns
from the nodes that have the change. Among the first 49 nodes, one failure halts the rollout, whether the change is to blame or the node.
`

// defaults of a policy.
const defaults = "first 1, maxInFlight 25 %, soak 2m, maxFailed 2 %"

func page(o options, all []result, hits []hit) string {
	var b strings.Builder
	fmt.Fprintf(&b, intro, runtime.NumCPU(), o.Resources, parts, soak.Seconds())
	for _, r := range all {
		fmt.Fprintf(&b, "| %d | 0 | %s | | | | %s | | | %s | %s |\n", r.nodes, bench.Seconds(r.fanOut.took), perNode(r, r.fanOut), bench.Seconds(r.fanOut.cpu), bench.MB(r.fanOut.peak))
		soaks := time.Duration(r.waves) * soak
		fmt.Fprintf(&b, "| %d | %d | %s | %d | %s | %s | %s | %d | %s | %s | %s |\n", r.nodes, parts, bench.Seconds(r.slow.took), r.waves, bench.Seconds(soaks), bench.Seconds(r.slow.took-soaks),
			perNode(r, r.slow), r.slow.writes, bench.Seconds(r.slow.closest), bench.Seconds(r.slow.cpu), bench.MB(r.slow.peak))
	}
	fmt.Fprintf(&b, between, step.Seconds(), o.tries, o.hit, defaults, applies.Seconds())
	for _, h := range hits {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", h.what, spread(h.nodes, strconv.Itoa), h.times())
	}
	b.WriteString(outro)
	return b.String()
}

func perNode(r result, c cost) string {
	return fmt.Sprintf("%.2f", float64(c.patches)/float64(r.nodes))
}

// times says when rollouts halted.
func (h hit) times() string {
	text := spread(h.halted, func(d time.Duration) string { return fmt.Sprintf("%.1f min", d.Minutes()) })
	if completed := len(h.nodes) - len(h.halted); completed > 0 {
		return fmt.Sprintf("%s; %d were completed", text, completed)
	}
	return text
}
