package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// measureCommand makes this program the parent of one measured run. The kernel counts the memory of who forks to the
// child until that is another program, so the parent must be one that has done nothing yet.
const measureCommand = "measure-one"

// A sample is one run of a program.
type sample struct {
	Wall, CPU time.Duration
	PeakKB    int64 // of the largest process, as wait4 tells it
	Exit      int
}

// measure runs a command chrooted in a root. A non-zero exit is data.
func measure(ctx context.Context, root string, command []string) (sample, error) {
	self, err := os.Executable()
	if err != nil {
		return sample{}, err
	}
	log := &strings.Builder{}
	cmd := exec.CommandContext(ctx, self, append([]string{measureCommand, root}, command...)...)
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

// measureHere runs a command chrooted and prints its sample.
func measureHere(args []string) int {
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: args[0]}
	began := time.Now()
	err := cmd.Run()
	wall := time.Since(began)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	state := cmd.ProcessState
	s := sample{Wall: wall, CPU: state.UserTime() + state.SystemTime(), Exit: state.ExitCode()}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		s.PeakKB = usage.Maxrss
	}
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		return 1
	}
	return 0
}
