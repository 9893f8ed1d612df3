package linux_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
)

// Concurrent writers to a few directories share fsyncs. Each waits for one of its directory, never forever and never
// for a canceled one.
func TestConcurrentWritesToOneDirectory(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h, err := linux.Open(linux.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	const writers, each = 16, 20
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			for j := range each {
				path := fmt.Sprintf("/%c/%d-%d", 'a'+i%2, i, j)
				if _, err := h.WriteFile(t.Context(), path, host.NewFile{UID: -1, GID: -1, Content: strings.NewReader(path)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for _, dir := range []string{"a", "b"} {
		entries, err := os.ReadDir(filepath.Join(root, dir))
		if err != nil || len(entries) != writers*each/2 {
			t.Errorf("%s has %d files, %v", dir, len(entries), err)
		}
	}
}

// New content is durable only once its name is: the directory is synced after the file.
func TestFailedDirectorySyncIsAnError(t *testing.T) {
	h, _ := tempRoot(t)
	file := ownedFile("new")
	file.Check = func(context.Context, string) error { return breakFsync() } // the file itself was synced before
	err := onThread(func() error {
		_, err := h.WriteFile(t.Context(), "/f", file)
		return err
	})
	if !errors.Is(err, unix.EIO) {
		t.Errorf("got %v, want an I/O error", err)
	}
}

func TestFailedContentSyncLeavesNameUntouched(t *testing.T) {
	h, root := tempRoot(t)
	must(t, os.WriteFile(filepath.Join(root, "f"), []byte("old"), 0o600))
	err := onThread(func() error {
		if err := breakFsync(); err != nil {
			return err
		}
		_, err := h.WriteFile(t.Context(), "/f", ownedFile("new"))
		return err
	})
	if !errors.Is(err, unix.EIO) || !strings.Contains(err.Error(), "/f") {
		t.Errorf("got %v, want an I/O error that names the path", err)
	}
	is, err := os.ReadFile(filepath.Join(root, "f"))
	must(t, err)
	if string(is) != "old" {
		t.Errorf("the file contains %q, want the old content", is)
	}
}

// onThread runs f on its own thread, which ends with it.
func onThread(f func() error) error {
	ended := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		ended <- f()
	}()
	return <-ended
}

// breakFsync makes every later fsync of this thread fail with an I/O error.
func breakFsync() error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_FSYNC},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EIO)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return errors.Join(
		unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
		unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(program)), 0, 0),
	)
}
