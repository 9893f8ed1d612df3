package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// times are those from changes to their corrections, in ascending order.
type times []time.Duration

// at is the time that a share of them does not exceed.
func (t times) at(share float64) time.Duration { return t[min(int(share*float64(len(t))), len(t)-1)] }

// results are those of the agent and of the bare loop. CPU is the share of one processor while unrelated files change, and rate
// how many changed in a second.
type results struct {
	files, bareFiles       times
	user, service, removed times
	cpu, bareCPU           float64
	rate, bareRate         float64
}

func measure(ctx context.Context, l *lab) (r results) {
	p, stop := l.startAgent(ctx)
	r.files = l.changeFiles(ctx)
	l.pause(ctx, calm)
	r.cpu, r.rate = l.busyWith(ctx, p)
	stop()
	for range l.rounds {
		l.round(ctx, &r)
	}
	self, err := os.Executable()
	l.Must(err)
	p, stop = l.start(exec.CommandContext(ctx, self, "-bare", l.path(folder)))
	l.pause(ctx, calm)
	r.bareFiles = l.changeFiles(ctx)
	r.bareCPU, r.bareRate = l.busyWith(ctx, p)
	stop()
	for _, all := range []times{r.files, r.bareFiles, r.user, r.service, r.removed} {
		slices.Sort(all)
	}
	return r
}

// changeFiles changes random files, one after the other, at irregular intervals.
func (l *lab) changeFiles(ctx context.Context) (all times) {
	for range l.changes {
		i := rand.IntN(l.files)
		path, want := l.path(folder+"/"+name(i)), []byte(text(i))
		began := time.Now()
		l.Must(os.WriteFile(path, []byte("changed\n"), 0o644))
		l.until(ctx, "the correction of "+path, func() bool {
			is, err := os.ReadFile(path)
			return err == nil && bytes.Equal(is, want)
		})
		all = append(all, time.Since(began))
		l.pause(ctx, rand.N(400*time.Millisecond))
	}
	return all
}

// round changes a user, a service and a package, of which a new agent knows no earlier drift, from which it would back off.
func (l *lab) round(ctx context.Context, r *results) {
	_, stop := l.startAgent(ctx)
	defer stop()
	exists := func(path string) func() bool {
		return func() bool { _, err := os.Stat(l.path(path)); return err == nil }
	}
	r.user = append(r.user, l.corrected(ctx, l.hasShell, "usermod", "--shell", "/bin/sh", "bench"))
	l.pause(ctx, calm)
	r.service = append(r.service, l.corrected(ctx, exists(up), "systemctl", "stop", "bench.service"))
	l.pause(ctx, calm)
	r.removed = append(r.removed, l.corrected(ctx, exists(marker), "dpkg", "--remove", "bench-package"))
	l.pause(ctx, calm)
}

func (l *lab) hasShell() bool {
	passwd, err := os.ReadFile(l.path("/etc/passwd"))
	return err == nil && strings.Contains(string(passwd), ":/home/bench:"+shell+"\n")
}

// corrected returns the time from the end of a command, which changes the machine, until something holds again.
func (l *lab) corrected(ctx context.Context, holds func() bool, command ...string) time.Duration {
	if !holds() {
		l.Fatalf("%v has nothing to change", command)
	}
	_, err := l.machine.Run(ctx, command...)
	l.Must(err)
	ended := time.Now()
	l.until(ctx, "the correction of "+strings.Join(command, " "), holds)
	return time.Since(ended)
}

// perSecond is how many unrelated files are to change in a second.
const perSecond = 10_000

// busyWith changes unrelated files in the watched directory, and returns the share of a processor that a process uses meanwhile, and
// how many files changed in a second.
func (l *lab) busyWith(ctx context.Context, p procfs.Proc) (cpu, rate float64) {
	const names = 1000 // the kernel joins equal events that follow each other
	path := func(i int) string { return l.path(fmt.Sprintf("%s/unrelated-%d", folder, i%names)) }
	defer func() {
		for i := range names {
			l.Warn(os.Remove(path(i)))
		}
	}()
	before, began, written := l.used(p), time.Now(), 0
	for time.Since(began) < l.busy {
		for time.Since(began) < l.busy && float64(written) < time.Since(began).Seconds()*perSecond {
			l.Must(os.WriteFile(path(written), nil, 0o644))
			written++
		}
		l.pause(ctx, time.Millisecond)
	}
	took := time.Since(began).Seconds()
	l.pause(ctx, calm) // until the last events are handled
	return (l.used(p) - before) / took, float64(written) / took
}

// used is the processor time of a process in seconds.
func (l *lab) used(p procfs.Proc) float64 {
	stat, err := p.Stat()
	l.Must(err)
	return stat.CPUTime()
}
