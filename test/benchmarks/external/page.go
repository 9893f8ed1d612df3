package main

import (
	"fmt"
	"runtime"
	"strings"
)

func page(o options, rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, `## External types

This chapter measures how long it takes to read %d records of a DNS server, all of which are in sync. To reproduce it, run %s. The server is Debian's PowerDNS, and the
programs run on the same disposable machine. The program in Python is that of [examples/dns](../examples/dns). The type of Puppet reads the zone in one request, too. Programs of external types run in
the sandbox, as the agent runs them; Puppet itself does not. Times are medians of %d runs on a machine with %d CPUs; what takes long ran once.

| | processes | requests to the server | time | relative |
|---|--:|--:|--:|--:|
`, o.records, "`make bench-external`", o.runs, runtime.NumCPU())
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %d | %d | %.2f s | %.1f |\n", r.what, r.processes, r.requests, r.time.Seconds(), float64(r.time)/float64(rows[0].time))
	}
	b.WriteString(`
Times depend on the machine and its load. The numbers of processes and requests do not: one process and one request for all resources of a type, however many there are. Puppet calls providers of the Resource API once for
each resource, so the same code asks the server as often as there are records.
`)
	return b.String()
}
