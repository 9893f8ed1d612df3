package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

const intro = `## A fleet at a glance

This chapter measures the commands of [a transcript](transcript.md) with %d nodes: three machines with the real agent, and %d simulated nodes, each of them the agent's code with a directory as
its host. etcd, the API server, the manager and kubectl fettle are the real programs, all nodes answer, and everything shares %d CPUs. A time is that from the start of a command to its end, of %d calls, and of at most three calls of
commands that ask every node. The floor is kubectl, which reads the same list of all NodeCatalogs and shows nothing of it: %.1f MB. To reproduce the chapter, run ` + "`make bench-glance`" + `.

| command | p50 | longest | target |
|---|--:|--:|---|
`

func page(o options, r results) string {
	var b strings.Builder
	fmt.Fprintf(&b, intro, r.nodes, o.simulated, runtime.NumCPU(), o.calls, float64(r.bytes)/1e6)
	for _, row := range append([]row{r.floor}, r.rows...) {
		longest := bench.At(row.times, 1)
		verdict := bench.Verdict(longest, row.target)
		if row.command == floor {
			verdict = "the floor"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", row.command, bench.Seconds(bench.Median(row.times)), bench.Seconds(longest), verdict)
	}
	fmt.Fprintf(&b, "\nThe last two commands concern every node, as does the plan: `why` prints a line for each, and `diff` asks each agent to compare its host. The peak memory of the manager was %d MB.\n", r.memory>>20)
	return b.String()
}
