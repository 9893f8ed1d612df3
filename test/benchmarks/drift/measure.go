package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

// results are those of each program that corrects drift.
type results struct{ agent, watch, bare corrections }

// corrections have the times from changes to their corrections. CPU is the share of one processor while unrelated files change, and
// rate how many changed in a second.
type corrections struct {
	files, user, service, removed []time.Duration
	cpu, rate                     float64
}

// A program starts, and returns its process once it corrects drift. stop ends it.
type program func(context.Context) (pid int, stop func())

func measure(ctx context.Context, l *lab) results {
	bare := l.ofFiles(ctx, l.startBareLoop)
	return results{l.ofAll(ctx, l.startAgent), l.ofAll(ctx, l.startWatch), bare}
}

func (l *lab) ofFiles(ctx context.Context, start program) (c corrections) {
	pid, stop := start(ctx)
	defer stop()
	c.files = l.changeFiles(ctx)
	l.Pause(ctx, calm)
	c.cpu, c.rate = l.busyWith(ctx, pid)
	return c
}

func (l *lab) ofAll(ctx context.Context, start program) corrections {
	c := l.ofFiles(ctx, start)
	for range l.rounds {
		l.round(ctx, start, &c)
	}
	return c
}

// changeFiles changes random files, one after the other, at irregular intervals.
func (l *lab) changeFiles(ctx context.Context) (all []time.Duration) {
	for range l.changes {
		i := rand.IntN(l.files)
		path, want := l.path(folder+"/"+name(i)), []byte(text(i))
		began := time.Now()
		l.Must(os.WriteFile(path, []byte("changed\n"), 0o644))
		l.Until(ctx, "the correction of "+path, tick, func() bool {
			is, err := os.ReadFile(path)
			return err == nil && bytes.Equal(is, want)
		})
		all = append(all, time.Since(began))
		l.Pause(ctx, rand.N(400*time.Millisecond))
	}
	return all
}

// round changes a user, a service and a package, of which a new process knows no earlier drift, from which it would back off.
func (l *lab) round(ctx context.Context, start program, c *corrections) {
	_, stop := start(ctx)
	defer stop()
	exists := func(path string) func() bool {
		return func() bool { _, err := os.Stat(l.path(path)); return err == nil }
	}
	c.user = append(c.user, l.corrected(ctx, l.hasShell, "usermod", "--shell", "/bin/sh", "bench"))
	l.Pause(ctx, calm)
	c.service = append(c.service, l.corrected(ctx, exists(up), "systemctl", "stop", "bench.service"))
	l.Pause(ctx, calm)
	c.removed = append(c.removed, l.corrected(ctx, exists(marker), "dpkg", "--remove", "bench-package"))
	l.Pause(ctx, calm)
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
	l.Until(ctx, "the correction of "+strings.Join(command, " "), tick, holds)
	return time.Since(ended)
}

// perSecond is how many unrelated files are to change in a second.
const perSecond = 10_000

// busyWith changes unrelated files in the watched directory, and returns the share of a processor that a process uses meanwhile, and
// how many files changed in a second.
func (l *lab) busyWith(ctx context.Context, pid int) (cpu, rate float64) {
	const names = 1000 // the kernel joins equal events that follow each other
	path := func(i int) string { return l.path(fmt.Sprintf("%s/unrelated-%d", folder, i%names)) }
	defer func() {
		for i := range names {
			l.Warn(os.Remove(path(i)))
		}
	}()
	before, began, written := l.used(pid), time.Now(), 0
	for time.Since(began) < l.busy {
		for time.Since(began) < l.busy && float64(written) < time.Since(began).Seconds()*perSecond {
			l.Must(os.WriteFile(path(written), nil, 0o644))
			written++
		}
		l.Pause(ctx, time.Millisecond)
	}
	took := time.Since(began).Seconds()
	l.Pause(ctx, calm) // until the last events are handled
	return (l.used(pid) - before) / took, float64(written) / took
}

// used is the processor time of a process in seconds.
func (l *lab) used(pid int) float64 {
	usage, err := bench.UsageOf(pid)
	l.Must(err)
	return usage.CPU.Seconds()
}
