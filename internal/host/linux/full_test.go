package linux_test

import (
	"os/signal"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An error that is new each time would be news each time, in a status that many read.
func TestAFullDiskFailsAWriteWithTheSameWordsEachTime(t *testing.T) {
	h, dir := tempRoot(t)
	limitFileSize(t, 16)
	for range 2 {
		_, err := h.WriteFile(t.Context(), "/f", mine("more than sixteen bytes"))
		if err == nil || err.Error() != "write /f: write f: file too large" {
			t.Errorf("got %v", err)
		}
	}
	if diff := cmp.Diff([]string(nil), tree(t, dir)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

// limitFileSize has writes of this process fail as on a full disk, until the test ends.
func limitFileSize(t *testing.T, size uint64) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	t.Cleanup(func() { signal.Reset(syscall.SIGXFSZ) })
	var before syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: before.Max}))
	t.Cleanup(func() { must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before)) })
}
