package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

const intro = `## Correction of drift

This chapter measures how soon the agent [corrects drift](drift.md). It manages %d files of 1 KB in one directory, a user, a service and a package of a Debian machine, and has a real API server. A random file is written
%d times, at irregular intervals; the time is that from before the write until the file has its content again. The bare loop is a Go program that waits for events of inotify and writes the file again: it keeps no order,
no backup, no state and no report, and flushes nothing to the disk. The user, the service and the package are changed by hand, in %d rounds, with usermod, systemctl and dpkg; the time is that from the end of the command. All
processes share %d CPUs. The agent [backs off](drift.md#contests) from a file that is changed again within a second or two, which random files sometimes are: such a change takes longest. To reproduce the chapter, run ` + "`make bench-drift`" + `.

| | p50 | p99 | longest | target of p99 |
|---|--:|--:|--:|---|
`

func page(r results, o options) string {
	var b strings.Builder
	fmt.Fprintf(&b, intro, o.files, o.changes, o.rounds, runtime.NumCPU())
	for _, row := range []struct {
		what  string
		times []time.Duration
		limit time.Duration // of p99; 0 for none
	}{
		{"a file", r.files, 50 * time.Millisecond},
		{"a file, with the bare loop", r.bareFiles, 0},
		{"a user", r.user, 500 * time.Millisecond},
		{"a stopped service", r.service, 500 * time.Millisecond},
		{"a removed package", r.removed, 2 * time.Second},
	} {
		p99 := bench.At(row.times, 0.99)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", row.what, bench.Milliseconds(bench.Median(row.times)), bench.Milliseconds(p99),
			bench.Milliseconds(bench.At(row.times, 1)), bench.Verdict(p99, row.limit))
	}
	fmt.Fprintf(&b, "\nWhile another file in that directory changes %.0f times a second, the agent uses %.1f %% of a CPU, and the bare loop %.1f %% at %.0f: %.2f times as much. The target is 1.5.\n",
		r.rate, 100*r.cpu, 100*r.bareCPU, r.bareRate, r.cpu/r.bareCPU)
	return b.String()
}
