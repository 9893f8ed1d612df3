package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/test/fixtures/mounts"
)

// onDisk runs a test on a thread with its own mounts, which end with it, and with an empty disk of its own.
func onDisk(t *testing.T, test func(disk string)) {
	t.Helper()
	disk := t.TempDir()
	mounts.Own(t, func() {
		must(t, unix.Mount("disk", disk, "tmpfs", 0, "size=2m,mode=0755"))
		test(disk)
	})
}

// fill fills a disk up to some pages.
func fill(t *testing.T, disk string, pages int) {
	t.Helper()
	f, err := os.Create(filepath.Join(disk, "filler"))
	must(t, err)
	defer f.Close()
	var size int64
	for page := make([]byte, os.Getpagesize()); err == nil; size += int64(len(page)) {
		_, err = f.Write(page)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("filling the disk: %v", err)
	}
	page := int64(os.Getpagesize())
	must(t, f.Truncate(size-page-int64(pages)*page))
}

// everything makes every kind of write, and returns what failed. Each text has the number of the round and more than a page.
func everything(dir string, round int) error {
	long := fmt.Sprintf(`{"round": %d, "text": %q}`, round, strings.Repeat("x", 6000))
	thing := resource.Ref{Kind: "File", Name: "/" + fmt.Sprint(round)}
	errs := []error{
		state.Disable(dir, long, time.Unix(0, 0)), state.PutReport(dir, []byte(long)), state.AddReport(dir, []byte(long)),
		state.NewCache(dir, "manifests").Store("one", []byte(long)), state.NewDocuments(dir, "catalogs", state.Options{}).Put("last", []byte(long)),
		state.ReplaceFile(filepath.Join(dir, "token"), []byte(long)),
	}
	s, err := state.Open(dir, state.Options{})
	if errs = append(errs, err); err != nil {
		return errors.Join(errs...)
	}
	if len(s.Warnings()) > 0 {
		errs = append(errs, fmt.Errorf("warnings: %q", s.Warnings()))
	}
	errs = append(errs, s.Arm([]resource.Ref{thing}))
	s.SetObserved(thing, map[string]string{"content": long})
	errs = append(errs, s.Commit(), s.Close())
	lock, err := state.TryLockAgent(dir, long)
	if err == nil {
		err = lock.Unlock()
	}
	return errors.Join(append(errs, err)...)
}

// whole returns what a state directory has, and reports files that are not complete.
func whole(t *testing.T, dir string) (rounds []string) {
	t.Helper()
	note := func(what string, raw []byte) {
		var one struct{ Round int }
		if err := json.Unmarshal(raw, &one); err != nil {
			t.Errorf("%s has %d bytes: %v", what, len(raw), err)
		}
		rounds = append(rounds, fmt.Sprint(what, " ", one.Round))
	}
	if disabled := (*state.DisabledError)(nil); errors.As(state.Disabled(dir), &disabled) {
		note("disabled", []byte(disabled.Message))
	}
	if report, err := state.Report(dir); err == nil {
		note("report", report)
	}
	if cached, err := state.NewCache(dir, "manifests").Load("one"); err == nil {
		note("cache", cached)
	}
	if document, err := state.NewDocuments(dir, "catalogs", state.Options{}).Get("last"); err == nil {
		note("document", document)
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if token, err := os.ReadFile(filepath.Join(dir, "token")); err == nil {
		note("token", token)
	}
	s, err := state.OpenReadOnly(dir, state.Options{})
	if err != nil || len(s.Warnings()) > 0 {
		t.Errorf("reading the state: %v, %q", err, s.Warnings())
		return rounds
	}
	for round := range 2 {
		if values := s.Observed(resource.Ref{Kind: "File", Name: "/" + fmt.Sprint(round)}); values != nil {
			note("observed", []byte(values["content"]))
		}
	}
	return rounds
}

// leftovers returns staged files and those that were set aside.
func leftovers(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (strings.HasPrefix(d.Name(), ".") || strings.Contains(d.Name(), ".bad-")) {
			found = append(found, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	return found
}

// The disk has room for one page more in each round, so that every write is once the one that finds it full.
func TestFullDiskLeavesAStateThatTheNextRunCanUse(t *testing.T) {
	const enough = 64 // pages
	for _, existing := range []bool{false, true} {
		failed := 0
		for pages := range enough {
			onDisk(t, func(disk string) {
				dir := filepath.Join(disk, "fettle")
				if existing {
					must(t, everything(dir, 0))
				}
				fill(t, disk, pages)
				err := everything(dir, 1)
				if err != nil {
					failed++
				}
				if err != nil && (!errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "no space left on device: free space in "+disk)) {
					t.Errorf("with %d pages: %v", pages, err)
				}
				if left := leftovers(t, dir); left != nil {
					t.Errorf("with %d pages it left %q", pages, left)
				}
				if has := whole(t, dir); existing && len(has) < 6 {
					t.Errorf("with %d pages it has only %q", pages, has)
				}
				must(t, os.Remove(filepath.Join(disk, "filler")))
				must(t, everything(dir, 1))
				want := []string{"disabled 1", "report 1", "cache 1", "document 1", "token 1", "observed 1"}
				if existing {
					want = append(want[:5], "observed 0", "observed 1")
				}
				if diff := cmp.Diff(want, whole(t, dir)); diff != "" {
					t.Errorf("with %d pages, after there was space again (-want +got):\n%s", pages, diff)
				}
			})
		}
		if failed == 0 || failed == enough {
			t.Errorf("%d of %d failed: the disk must be full in some, and have enough room in the last", failed, enough)
		}
	}
}
