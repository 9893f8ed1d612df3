// Command meter runs a command chrooted in a root and prints its resource usage as JSON.
//
// It is a separate program because the kernel counts the memory of the parent for the child until the child calls exec:
// the parent of a measured program must be small.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "meter:", err)
		os.Exit(1)
	}
}

// run prints the time of the whole process, from its start to its end, the processor time and, in KB, the peak resident
// set that wait4 tells. A non-zero exit is data.
func run(root string, command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	began := time.Now()
	err := cmd.Run()
	wall := time.Since(began)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	state := cmd.ProcessState
	peak := int64(0)
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		peak = usage.Maxrss
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"Wall": wall, "CPU": state.UserTime() + state.SystemTime(), "PeakKB": peak, "Exit": state.ExitCode(),
	})
}
