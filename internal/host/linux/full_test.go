package linux_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host/linux"
)

// fullDiskVar names the root in which a child process of this test simulates a full disk.
const fullDiskVar = "FETTLE_TEST_FULL_DISK"

// A message that differs each time would update the watched status each time. The limit that simulates the full disk
// applies to a whole process, so a child process writes.
func TestFullDiskErrorIsStable(t *testing.T) {
	if dir := os.Getenv(fullDiskVar); dir != "" {
		limitFileSize(t, 16)
		for range 2 {
			_, err := open(t, linux.Options{Root: dir}).WriteFile(t.Context(), "/f", ownedFile("more than sixteen bytes"))
			fmt.Fprintln(os.Stderr, err) // a pipe, which has no size
		}
		return
	}

	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	child.Env = append(os.Environ(), fullDiskVar+"="+dir)
	var messages strings.Builder
	child.Stderr = &messages
	must(t, child.Run())
	const message = "write /f: write f: file too large\n"
	if diff := cmp.Diff(message+message, messages.String()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string(nil), tree(t, dir)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

// limitFileSize makes writes of this process beyond size fail, as they do on a full disk.
func limitFileSize(t *testing.T, size uint64) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size}))
}
