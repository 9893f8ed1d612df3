package linux_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/rival"
)

// fullVar names the root in which a child process of this test uses a directory with many names.
const fullVar = "FETTLE_TEST_FULL"

// A user can create more names in a directory than fit in memory. A child process does the work, so that its peak
// memory can be measured.
func TestLargeDirectoryUsesLittleMemory(t *testing.T) {
	if dir := os.Getenv(fullVar); dir != "" {
		h := open(t, linux.Options{Root: dir})
		_, err := h.WriteFile(t.Context(), "/mem/full/f", ownedFile("new"))
		must(t, err)
		must(t, h.RemoveAll("/mem/full"))
		const most = 48 << 10
		if used := peak(t); used > most {
			t.Errorf("peak memory is %d KiB, want at most %d", used, most)
		}
		return
	}
	debian.Require(t)
	h, dir := tempRoot(t)
	must(t, os.Mkdir(filepath.Join(dir, "mem"), 0o755))
	must(t, unix.Mount("tmpfs", filepath.Join(dir, "mem"), "tmpfs", 0, "nr_inodes=0"))
	t.Cleanup(func() { must(t, unix.Unmount(filepath.Join(dir, "mem"), 0)) })
	must(t, os.Mkdir(filepath.Join(dir, "mem/full"), 0o755))
	const names = 250_000 // take 64 MiB
	rival.Fill(t, filepath.Join(dir, "mem/full"), names)
	if list, err := h.ReadDir("/mem/full"); !errors.Is(err, host.ErrManyNames) || list != nil {
		t.Errorf("listed %d names: %v", len(list), err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	child.Env = append(os.Environ(), fullVar+"="+dir)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := h.Lstat("/mem/full"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the tree still exists: %v", err)
	}
}

// peak returns the peak memory of the process in KiB.
func peak(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	must(t, err)
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	used, err := strconv.Atoi(string(found[1]))
	must(t, err)
	return used
}
