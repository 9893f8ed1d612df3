package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

// A sample has the measurements of one run by the program meter.
type sample struct {
	Wall, CPU time.Duration
	PeakKB    int64 // of the largest process
	Exit      int
}

// samples are those of several runs of one program.
type samples []sample

func (s samples) walls() (all []time.Duration) {
	for _, one := range s {
		all = append(all, one.Wall)
	}
	return all
}

// median is the median of each measurement.
func (s samples) median() sample {
	var cpu []time.Duration
	var peak []int64
	for _, one := range s {
		cpu, peak = append(cpu, one.CPU), append(peak, one.PeakKB)
	}
	return sample{Wall: bench.Median(s.walls()), CPU: bench.Median(cpu), PeakKB: bench.Median(peak)}
}

// sample runs a command chrooted in the root.
func (l *lab) sample(ctx context.Context, name string, command []string) sample {
	log := &strings.Builder{}
	cmd := exec.CommandContext(ctx, l.meter, append([]string{l.root}, command...)...)
	cmd.Env = environment()
	cmd.Stderr = log
	out, err := cmd.Output()
	if err != nil {
		l.Must(fmt.Errorf("cannot run %s: %w: %s", command, err, log))
	}
	var s sample
	l.Must(json.Unmarshal(out, &s))
	if s.Exit != 0 {
		l.Fatalf("%s exited with %d: %s", command[0], s.Exit, last(log.String(), 2000))
	}
	l.Logf("%-9s %11s  %11s CPU  %s", name, bench.Milliseconds(s.Wall), bench.Milliseconds(s.CPU), bench.MB(s.PeakKB<<10))
	return s
}

func last(text string, n int) string { return text[max(0, len(text)-n):] }

// environment is that of programs in the root.
func environment() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}
}
