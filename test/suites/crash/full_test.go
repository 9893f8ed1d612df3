package crash_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/mounts"
)

// A disk is a small file system of its own, with a root and its state.
type disk struct {
	dir, command string
}

// onDisk runs a test on a thread with its own mounts, which end with it.
func onDisk(t *testing.T, command string, test func(d disk)) {
	t.Helper()
	d := disk{t.TempDir(), command}
	mounts.Own(t, func() {
		if err := unix.Mount("disk", d.dir, "tmpfs", 0, "size=2m,mode=0755"); err != nil {
			t.Fatal(err)
		}
		test(d)
	})
}

// plant makes the root.
func (d disk) plant(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"etc", "srv"} {
		if err := os.Mkdir(filepath.Join(d.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(d.dir, "etc/passwd"), "root:x:0:0:root:/root:/bin/bash\n")
	put(t, filepath.Join(d.dir, "etc/group"), "root:x:0:\n")
}

// fill leaves this number of pages.
func (d disk) fill(t *testing.T, pages int) {
	t.Helper()
	f, err := os.Create(filepath.Join(d.dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, os.Getpagesize())
	size := int64(0)
	for {
		if _, err = f.Write(page); err != nil {
			break
		}
		size += int64(len(page))
	}
	if err := f.Truncate(size - int64(pages*len(page))); err != nil {
		t.Fatal(err)
	}
}

// apply applies a File with this letter as its content.
func (d disk) apply(t *testing.T, letter string) (code int, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), d.command, "apply", "-f", "-", "--root", d.dir, "--detailed-exitcodes")
	var said strings.Builder
	cmd.Stderr = &said
	cmd.Stdin = strings.NewReader("apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: f}\nspec: {nodeSelector: {}, path: /srv/f, content: " + strings.Repeat(letter, 6000) + "}\n")
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), said.String()
}

// damage returns what is not as it should be on the disk: staged files, files that were set aside, JSON that is not complete.
func (d disk) damage() (found []string) {
	err := filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(e.Name(), ".") || strings.Contains(e.Name(), ".bad-"):
			found = append(found, path)
		case strings.HasSuffix(path, ".json"):
			if raw, err := os.ReadFile(path); err != nil || !json.Valid(raw) {
				found = append(found, fmt.Sprintf("%s has %d bytes, %v", path, len(raw), err))
			}
		}
		return nil
	})
	if err != nil {
		found = append(found, err.Error())
	}
	return found
}

func (d disk) content(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(d.dir, "srv/f"))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(raw), strings.Repeat(string(raw[0]), 6000), string(raw[0]))
}

// The disk of the root, the bucket and the state has room for two pages more in each round, so that the writes of a run find it full in turn.
func TestRunAfterAFullDiskGoesOnAsIfNothingHadHappened(t *testing.T) {
	debian.Require(t)
	const enough = 24 // pages
	command := filepath.Join(t.TempDir(), program)
	install(t, strings.TrimSuffix(command, program))
	for _, before := range []string{"", "a"} { // the content before, from a run that had room; "" is a host without a state
		complained := 0
		for pages := 0; pages < enough; pages += 2 {
			onDisk(t, command, func(d disk) {
				d.plant(t)
				if before != "" {
					d.apply(t, before)
				}
				d.fill(t, pages)
				code, stderr := d.apply(t, "b")
				if stderr != "" {
					complained++
				}
				if (code != 2 || stderr != "") && !strings.Contains(stderr, syscall.ENOSPC.Error()) {
					t.Errorf("with %d pages: exit %d, %s", pages, code, stderr)
				}
				if is := d.content(t); is != "b" && is != before {
					t.Errorf("with %d pages the File has %q", pages, is)
				}
				if found := d.damage(); found != nil {
					t.Errorf("with %d pages: %q after %s", pages, found, stderr)
				}
				if err := os.Remove(filepath.Join(d.dir, "filler")); err != nil {
					t.Fatal(err)
				}
				if code, stderr := d.apply(t, "b"); code != 0 && code != 2 || stderr != "" || d.content(t) != "b" {
					t.Errorf("with %d pages, after there was space again: exit %d, %q", pages, code, stderr)
				}
				if before == "" {
					return
				}
				// The content that was replaced is in the bucket, even if the disk was full meanwhile.
				out, err := exec.CommandContext(t.Context(), command, "bucket", "get", "/srv/f", "--root", d.dir).CombinedOutput()
				if err != nil || string(out) != strings.Repeat("a", 6000) {
					t.Errorf("with %d pages the bucket has %.100q, %v", pages, out, err)
				}
			})
		}
		if complained == 0 || complained == enough/2 {
			t.Errorf("with %q before, %d of %d runs had no room: some must, and the last must not", before, complained, enough/2)
		}
	}
}
