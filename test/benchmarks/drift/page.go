package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

const intro = `## Correction of drift

This chapter measures how soon the agent and ` + "`fettle apply --watch`" + ` [correct drift](drift.md). Each manages %d files of 1 KB in one directory, a user, a service and a package of a Debian machine, and the agent has a real API server. A random file is written
%d times, at irregular intervals; the time is that from before the write until the file has its content again. The bare loop is a Go program that waits for events of inotify and writes the file again: it keeps no order,
no backup, no state and no report, and flushes nothing to the disk. The user, the service and the package are changed by hand, in %d rounds, with usermod, systemctl and dpkg; the time is that from the end of the command. All
processes share %d CPUs. The programs [back off](drift.md#contests) from a file that is changed again within a second or two, which random files sometimes are: such a change takes longest. To reproduce the chapter, run ` + "`make bench-drift`" + `.

| | p50 | p99 | longest | target of p99 |
|---|--:|--:|--:|---|
`

func page(r results, o options) string {
	var b strings.Builder
	fmt.Fprintf(&b, intro, o.files, o.changes, o.rounds, runtime.NumCPU())
	rows(&b, "", r.agent)
	rows(&b, ", with `fettle apply --watch`", r.watch)
	row(&b, "a file, with the bare loop", r.bare.files, 0)
	fmt.Fprintf(&b, "\nWhile another file in that directory changes %.0f times a second, the agent uses %.1f %% of a CPU, `fettle apply --watch` %.1f %%, and the bare loop %.1f %%: %.2f and %.2f times as much. The target is 1.5.\n",
		r.agent.rate, 100*r.agent.cpu, 100*r.watch.cpu, 100*r.bare.cpu, r.agent.cpu/r.bare.cpu, r.watch.cpu/r.bare.cpu)
	return b.String()
}

func rows(b *strings.Builder, with string, c corrections) {
	row(b, "a file"+with, c.files, 50*time.Millisecond)
	row(b, "a user"+with, c.user, 500*time.Millisecond)
	row(b, "a stopped service"+with, c.service, 500*time.Millisecond)
	row(b, "a removed package"+with, c.removed, 2*time.Second)
}

// row shows the times of corrections. limit is the target of their 99th percentile; 0 for none.
func row(b *strings.Builder, what string, times []time.Duration, limit time.Duration) {
	p99 := bench.At(times, 0.99)
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", what, bench.Milliseconds(bench.Median(times)), bench.Milliseconds(p99),
		bench.Milliseconds(bench.At(times, 1)), bench.Verdict(p99, limit))
}
