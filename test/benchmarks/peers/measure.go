package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// A sample has the measurements of one run by the program meter.
type sample struct {
	Wall, CPU time.Duration
	PeakKB    int64 // of the largest process
	Exit      int
}

// time runs a command chrooted in a root. A non-zero exit is data.
func (l *lab) time(ctx context.Context, command []string) (sample, error) {
	log := &strings.Builder{}
	cmd := exec.CommandContext(ctx, l.meter, append([]string{l.root}, command...)...)
	cmd.Env = environment()
	cmd.Stderr = log
	out, err := cmd.Output()
	if err != nil {
		return sample{}, fmt.Errorf("cannot run %s: %w: %s", command, err, log)
	}
	var s sample
	if err := json.Unmarshal(out, &s); err != nil {
		return s, err
	}
	if s.Exit != 0 {
		return s, fmt.Errorf("%s exited with %d: %s", command[0], s.Exit, last(log.String(), 2000))
	}
	return s, nil
}

func last(text string, n int) string { return text[max(0, len(text)-n):] }

// environment is that of programs in the root.
func environment() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}
}
