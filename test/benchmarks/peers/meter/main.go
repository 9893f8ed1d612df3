// Command meter runs a command chrooted in a root and prints what it took, as JSON.
//
// It is a program of its own because the kernel counts the memory of who forks to the child until that is another
// program: the parent of what is measured must be small.
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
