package state

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// A LockedError reports that another process has the store open: a run is in progress.
type LockedError struct {
	Dir    string
	Holder string // who has it open, such as "PID 123 (fettle apply)"; "" if that is unknown
}

// Error names the directory and who has locked it.
func (e *LockedError) Error() string {
	if e.Holder == "" {
		return fmt.Sprintf("another run is in progress on this host and has locked the state in %s: wait for it to end and try again", e.Dir)
	}
	return fmt.Sprintf("another run is in progress on this host: %s has locked the state in %s: wait for it to end and try again", e.Holder, e.Dir)
}

// Waiting says what a run waits for.
func (e *LockedError) Waiting() string {
	holder := e.Holder
	if holder == "" {
		holder = "another run"
	}
	return fmt.Sprintf("waiting for the lock of %s, which %s holds", e.Dir, holder)
}

// holderOfLock describes the process that has locked a file; "" if the kernel does not tell, as for one in another PID
// namespace, or if it has just ended.
func holderOfLock(file string) string {
	locked, err := os.Stat(file)
	if err != nil {
		return ""
	}
	st, ok := locked.Sys().(*syscall.Stat_t)
	locks, err := os.ReadFile("/proc/locks")
	if err != nil || !ok {
		return ""
	}
	for _, pid := range lockersOf(string(locks), st.Ino) {
		if hasOpen(pid, locked) {
			return fmt.Sprintf("PID %s (%s)", pid, program(pid))
		}
	}
	return ""
}

// lockersOf returns the processes that hold locks on files with this number, according to /proc/locks. Files of several file
// systems may have it.
func lockersOf(locks string, ino uint64) (pids []string) {
	for line := range strings.Lines(locks) {
		// 1: FLOCK ADVISORY WRITE 4711 00:2f:1234 0 EOF; one who waits has "->" before FLOCK.
		f := strings.Fields(line)
		if len(f) > 5 && f[1] == "FLOCK" && strings.HasSuffix(f[5], fmt.Sprintf(":%d", ino)) {
			pids = append(pids, f[4])
		}
	}
	return pids
}

// hasOpen reports whether a process has a file open.
func hasOpen(pid string, file os.FileInfo) bool {
	descriptors, _ := filepath.Glob("/proc/" + pid + "/fd/*")
	for _, d := range descriptors {
		if open, err := os.Stat(d); err == nil && os.SameFile(open, file) {
			return true
		}
	}
	return false
}

// command matches the first argument of a process if that is what it was told to do.
var command = regexp.MustCompile(`^[a-z][a-z-]{0,30}$`)

// program names the program of a process and its command, such as "fettle apply". It leaves out other arguments.
func program(pid string) string {
	raw, _ := os.ReadFile("/proc/" + pid + "/cmdline")
	argv := strings.Split(string(raw), "\x00")
	name := filepath.Base(argv[0])
	if len(argv) > 1 && command.MatchString(argv[1]) {
		return name + " " + argv[1]
	}
	return name
}
