package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

// A result is everything that was measured.
type result struct {
	sizes                map[string]int64 // of images, in bytes
	applied, first, last []time.Duration  // kubectl, and the first and the last node of each change
	idle                 time.Duration
	pods                 []pod
}

func (r *result) size(image string, bytes int64) {
	if r.sizes == nil {
		r.sizes = map[string]int64{}
	}
	r.sizes[image] = bytes
}

func page(o options, r result) string {
	var b strings.Builder
	fmt.Fprintf(&b, `## The pods of a cluster

This chapter measures Fettle's pods on a real cluster of three nodes, installed from config/default. To reproduce it,
run %s. Each node has %d Files of about 1 KB, %d Users, %d Groups and %d installed Packages. Memory is what the kernel charges to the container's
control group. It includes pages of the program and of other files, which the kernel takes back when it needs them; anonymous
memory is the part without them. Peaks include the start and all changes. Requests are counted in the API server's audit log;
watches are counted when they end.

`, "`make bench-pods`", files, users, groups, packages)
	fmt.Fprintf(&b, "| image (amd64) | compressed |\n|---|--:|\n| agent | %s |\n| manager | %s |\n\n", megabytes(r.sizes["agent"]), megabytes(r.sizes["manager"]))
	fmt.Fprintf(&b, "| pod, %.0f minutes without changes | memory | of it anonymous | peak memory | CPU time | of one core | requests | of these Lease renewals | of these other writes |\n", r.idle.Minutes())
	b.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	slices.SortFunc(r.pods, func(a, b pod) int { return strings.Compare(a.what, b.what) })
	for _, p := range r.pods {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.2f s | %.2f %% | %d | %d | %d |\n", p.what, megabytes(p.idle), megabytes(p.anonymous), megabytes(p.peak),
			p.cpu.Seconds(), 100*p.cpu.Seconds()/r.idle.Seconds(), p.requests, p.leases, p.writes)
	}
	fmt.Fprintf(&b, `
The time from the start of `+"`kubectl apply`"+` with a changed File to its content on a node, of %d changes:

| | median | fastest | slowest |
|---|--:|--:|--:|
`, o.changes)
	row := func(what string, d []time.Duration) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", what, bench.Seconds(bench.Median(d)), bench.Seconds(bench.At(d, 0)), bench.Seconds(bench.At(d, 1)))
	}
	row("kubectl itself", r.applied)
	row("first node", r.first)
	row("last of three nodes", r.last)
	return b.String()
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
