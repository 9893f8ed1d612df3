package linux_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// sweepOnce simulates the first write of another process in a directory.
func sweepOnce(dir string) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, n := range names {
		file := filepath.Join(dir, n.Name())
		if !strings.HasPrefix(n.Name(), ".fettle-") {
			continue
		}
		if f, err := os.Open(file); err == nil {
			if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
				_ = os.Remove(file)
			}
			_ = f.Close()
		}
	}
}

func TestCleanupKeepsFilesBeingWritten(t *testing.T) {
	h, dir := tempRoot(t)
	done := make(chan struct{})
	var sweeping sync.WaitGroup
	for range 2 {
		sweeping.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					sweepOnce(dir)
				}
			}
		})
	}
	for i := range 50 {
		if _, err := h.WriteFile(t.Context(), fmt.Sprintf("/f%d", i%10), ownedFile("new")); err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	sweeping.Wait()
}
