package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

const intro = `## One host, beside Puppet and CFEngine

What a run of fettle costs beside Puppet's and CFEngine's agents, and beside a floor: a program that only lstats, reads
and hashes the same files and reads dpkg's status, passwd and shadow. Written by

    make bench-peers

The state is so many files of 1 KB with owner, group and mode, 100 packages that are installed and 20 users, as one
manifest for each program. All of them run chrooted in one disposable Debian root, fettle too, in turn and interleaved;
Puppet and CFEngine are Debian's packages, in that root alone. Times are medians of the whole process, from its start
to its end; memory is the peak resident set that wait4 tells. CFEngine has no packages to look after: Debian ships it
without a module for any package system. A first run starts without the files and users; packages are there already. Its floor
makes the files, many side by side: it writes each beside its place, has the disk keep it and renames it. Then it runs
the same useradd commands as fettle.

An agent's run is what nodeagent does every ten minutes: it finds its catalog on disk, as it does while the API server
is away, and has the same state in sync. Measured is the processor time of a running agent, and of what it starts, over
many runs a second apart.

`

// bounds says what keeps a run from being quicker, as the stages and the profile show it.
const bounds = `
### What bounds it

A run in sync has to start a program that brings an API server's validation along: half of the start is the
initialization of packages (` + "`GODEBUG=inittrace=1 fettle --version`" + ` lists them), and most of the memory at the start is the
program's own code. What the floor does too, opening and hashing files, is a third of the processor time after that; decoding
cached manifests and compiling them take a quarter, the engine's decisions a sixth, and allocating memory, page faults
included, most of the rest. The profile is that of

    GOGC=400 go test ./internal/cli -run '^$' -bench ApplyInSync -cpuprofile cpu.pb && go tool pprof -top -cum cpu.pb

A first run also parses and validates every manifest, for a third of its processor time, before it writes anything; later
runs find them in the cache. Beyond that it waits for the disk, which must keep each file before it takes its name, and for
useradd, which writes six files for each user, as its floor does.

Of the aims that a run misses, Puppet's time by 150 leaves little more than the program's start and the floor together. The
memory is the program's code, which is there from the start, and the resources, which are all in memory at once. With many
files, the floor's own work is done on all processors, but what is decided of one resource after another is not: that, and
decoding the manifests, take as long as the floor. A first run can't come near its floor while the floor validates nothing.
`

func page(l *lab, o options, tables []table) string {
	var b strings.Builder
	b.WriteString(intro)
	for _, p := range l.programs {
		if p.says != "" {
			fmt.Fprintf(&b, "- %s: %s\n", p.name, p.says)
		}
	}
	fmt.Fprintf(&b, "- machine: %d CPUs, %s; %d runs in sync, %d first runs\n", runtime.NumCPU(), cpuModel(), o.runs, o.cold)
	for _, t := range tables {
		section(&b, fmt.Sprintf("%d files, in sync", t.files), l.programs, t.inSync)
		partsSection(&b, t)
		section(&b, fmt.Sprintf("%d files, first run", t.files), l.programs, t.first)
		agentSection(&b, t)
	}
	aimsSection(&b, tables)
	b.WriteString(bounds)
	return b.String()
}

func section(b *strings.Builder, title string, all []program, samples map[string][]sample) {
	if len(samples) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s\n\n| program | median | fastest | CPU | to the floor | to fettle | peak memory |\n|---|--:|--:|--:|--:|--:|--:|\n", title)
	fettle, floor := median(samples["fettle"], wall), median(samples["floor"], wall)
	for _, p := range all {
		s := samples[p.name]
		if len(s) == 0 {
			continue
		}
		m := median(s, wall)
		fmt.Fprintf(b, "| %s | %.1f ms | %.1f ms | %.1f ms | %s | %s | %.1f MB |\n",
			p.name, ms(m), ms(slices.Min(column(s, wall))), ms(median(s, cpu)), ratio(m, floor), ratio(m, fettle), float64(median(s, peak))/1024)
	}
}

func wall(s sample) time.Duration { return s.Wall }
func cpu(s sample) time.Duration  { return s.CPU }
func peak(s sample) time.Duration { return time.Duration(s.PeakKB) }

func column(s []sample, of func(sample) time.Duration) []time.Duration {
	var out []time.Duration
	for _, one := range s {
		out = append(out, of(one))
	}
	return out
}

func median(s []sample, of func(sample) time.Duration) time.Duration {
	if len(s) == 0 {
		return 0
	}
	all := column(s, of)
	slices.Sort(all)
	return all[len(all)/2]
}

func ratio(a, b time.Duration) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", quotient(a, b))
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// cpuModel is the kernel's name for the first processor.
func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
