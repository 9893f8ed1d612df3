package main

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

const intro = `## One host, compared with Puppet and CFEngine

This chapter compares a run of fettle with Puppet's and CFEngine's agents, and with a lower bound, the floor: a program that only
lstats, reads and hashes the same files and reads dpkg's status, passwd and shadow. To reproduce it, run ` + "`make bench-peers`" + `.

The desired state has the given number of files of 1 KB with owner, group and mode, 100 installed packages and 20 users, in one
manifest per program. All programs run alternately in one disposable Debian root, in a chroot. Puppet and CFEngine are Debian's
packages. Times are medians for the whole process; memory is the peak resident set that wait4 reports. CFEngine manages no
packages, because Debian's version includes no package module. A first run starts without the files and users, but with the
packages. Its floor creates the files in parallel (it writes a temporary file, syncs it and renames it), and then runs the same
useradd commands as fettle.

"The agent's run" is the run that nodeagent does every ten minutes, with its catalog on disk, as during an outage of the API
server. The processor time of a running agent and its child processes is measured over many runs a second apart.

`

// bounds explains the limiting factors of a run.
const bounds = `
### Limiting factors

A run in sync starts a program that includes the validation of an API server. Two thirds of the start are the initialization of
packages (` + "`GODEBUG=inittrace=1 fettle --version`" + ` lists them), and half of the peak memory is
the program's code. Of the remaining processor time, opening and hashing files, as the floor does, takes a third; decoding and
compiling cached manifests take a quarter; the engine's decisions take a sixth; and memory allocation, including page faults,
takes most of the rest. To profile it, run
` + "`GOGC=400 go test ./internal/cli -run '^$' -bench ApplyInSync -cpuprofile cpu.pb && go tool pprof -top -cum cpu.pb`" + `

A first run also parses and validates every manifest, which takes a third of its processor time; later runs use the cache. Like
its floor, it then waits for the disk, which must store each file before the rename, and for useradd, which writes six files
for each user.

Some targets are missed. A 150th of Puppet's time is little more than the start of the program and the floor together. Memory
contains the program's code, and all resources at once. With many files, the file operations use all processors, but
decisions about resources are sequential; these and the decoding of manifests take as long as the floor. The agent opens each file
twice, because only a file that is known to be regular may be opened for reading; the floor opens what it is given. A first run
cannot approach its floor, because the floor validates nothing.
`

func page(l *lab, o options, tables []table) string {
	var b strings.Builder
	b.WriteString(intro)
	for _, p := range l.programs {
		if p.says != "" {
			fmt.Fprintf(&b, "- %s: %s\n", p.name, p.says)
		}
	}
	fmt.Fprintf(&b, "- machine: %s; %d runs in sync, %d first runs\n", bench.Machine(), o.runs, o.cold)
	summarySection(&b, tables)
	for _, t := range tables {
		section(&b, fmt.Sprintf("%d files, in sync", t.files), l.programs, t.inSync)
		partsSection(&b, t)
		section(&b, fmt.Sprintf("%d files, first run", t.files), l.programs, t.first)
		agentSection(&b, t)
	}
	b.WriteString(bounds)
	return b.String()
}

func section(b *strings.Builder, title string, all []program, measured map[string]samples) {
	if len(measured) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s\n\n| program | median | fastest | CPU | relative to floor | relative to fettle | peak memory |\n|---|--:|--:|--:|--:|--:|--:|\n", title)
	fettle, floor := measured["fettle"].median(), measured["floor"].median()
	for _, p := range all {
		m := measured[p.name].median()
		fmt.Fprintf(b, "| %s | %s | %s | %s | %.2f | %.2f | %s |\n", p.name, bench.Milliseconds(m.Wall), bench.Milliseconds(bench.At(measured[p.name].walls(), 0)),
			bench.Milliseconds(m.CPU), bench.Ratio(m.Wall, floor.Wall), bench.Ratio(m.Wall, fettle.Wall), bench.MB(m.PeakKB<<10))
	}
}
