package linux_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func TestWriteFileReplacesAtomically(t *testing.T) {
	h, dir := tempRoot(t)
	put(t, filepath.Join(dir, "etc/motd"), "old")
	before, err := os.Open(filepath.Join(dir, "etc/motd"))
	must(t, err)
	defer before.Close()

	sum, err := h.WriteFile(t.Context(), "/etc/motd", ownedFile("new"))
	must(t, err)
	if want := sha256.Sum256([]byte("new")); sum != want {
		t.Errorf("sum is %x, want %x", sum, want)
	}
	if got := read(t, filepath.Join(dir, "etc/motd")); got != "new" {
		t.Errorf("the file contains %q", got)
	}
	if old, err := io.ReadAll(before); err != nil || string(old) != "old" {
		t.Errorf("a reader of the old file reads %q, %v", old, err)
	}
	if diff := cmp.Diff([]string{"etc", "etc/motd"}, tree(t, dir)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

func TestWriteFileSetsOwnerAndMode(t *testing.T) {
	debian.Require(t)
	type attrs struct {
		UID, GID int
		Mode     uint32
	}
	mode := func(m uint32) *uint32 { return &m }
	tests := map[string]struct {
		old  *attrs
		file host.NewFile
		want attrs
	}{
		"a new file belongs to root and has mode 0644":  {file: host.NewFile{UID: -1, GID: -1}, want: attrs{0, 0, 0o644}},
		"a new file gets the requested attributes":      {file: host.NewFile{UID: 4, GID: 5, Mode: mode(0o6711)}, want: attrs{4, 5, 0o6711}},
		"a replaced file keeps its attributes":          {old: &attrs{7, 8, 0o4750}, file: host.NewFile{UID: -1, GID: -1}, want: attrs{7, 8, 0o4750}},
		"a replaced file gets the requested attributes": {old: &attrs{7, 8, 0o640}, file: host.NewFile{UID: 0, GID: -1, Mode: mode(0o600)}, want: attrs{0, 8, 0o600}},
		"mode 0 is set":              {old: &attrs{7, 8, 0o640}, file: host.NewFile{UID: -1, GID: 0, Mode: mode(0)}, want: attrs{7, 0, 0}},
		"file type bits are ignored": {file: host.NewFile{Mode: mode(0o100600)}, want: attrs{0, 0, 0o600}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h, dir := tempRoot(t)
			if test.old != nil {
				put(t, filepath.Join(dir, "f"), "")
				must(t, os.Chown(filepath.Join(dir, "f"), test.old.UID, test.old.GID))
				must(t, syscall.Chmod(filepath.Join(dir, "f"), test.old.Mode))
			}
			_, err := h.WriteFile(t.Context(), "/f", test.file)
			must(t, err)
			info, err := h.Lstat("/f")
			must(t, err)
			if diff := cmp.Diff(test.want, attrs{info.UID, info.GID, info.Mode}); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailedWriteKeepsOldFileAndCleansUp(t *testing.T) {
	failure := errors.New("no")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]struct {
		ctx  context.Context
		file host.NewFile
		want error
	}{
		"the content fails":     {t.Context(), host.NewFile{Content: iotest.ErrReader(failure)}, failure},
		"the check fails":       {t.Context(), host.NewFile{Content: strings.NewReader("new"), Check: func(context.Context, string) error { return failure }}, failure},
		"the context has ended": {ended, host.NewFile{Content: strings.NewReader("new")}, context.Canceled},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h, dir := tempRoot(t)
			put(t, filepath.Join(dir, "f"), "old")
			test.file.UID, test.file.GID = -1, -1
			sum, err := h.WriteFile(test.ctx, "/f", test.file)
			if !errors.Is(err, test.want) || sum != [32]byte{} {
				t.Errorf("got %x, %v; want no sum and %v", sum, err, test.want)
			}
			if got := read(t, filepath.Join(dir, "f")); got != "old" {
				t.Errorf("the file contains %q", got)
			}
			if diff := cmp.Diff([]string{"f"}, tree(t, dir)); diff != "" {
				t.Errorf("tree (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriteRemovesLeftoversOfKilledWrite(t *testing.T) {
	h, dir := tempRoot(t)
	put(t, filepath.Join(dir, ".fettle-ABCDEFGHIJKLMNOPQRSTUVWXYZ"), "half a secret")
	put(t, filepath.Join(dir, ".fettle-notes"), "someone's")
	var during []string
	_, err := h.WriteFile(t.Context(), "/f", host.NewFile{
		Content: strings.NewReader("new"), UID: -1, GID: -1,
		Check: func(ctx context.Context, _ string) error {
			other := open(t, linux.Options{Root: dir}) // to locks, this is another process
			_, err := other.WriteFile(ctx, "/g", ownedFile("other"))
			during = tree(t, dir)
			return err
		},
	})
	must(t, err)
	if len(during) != 3 || !strings.HasPrefix(during[0], ".fettle-") {
		t.Errorf("while a file is staged, another process leaves %v", during)
	}
	if diff := cmp.Diff([]string{".fettle-notes", "f", "g"}, tree(t, dir)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

func TestCheckReadsCompleteFileAtHostPath(t *testing.T) {
	h, dir := tempRoot(t)
	must(t, os.MkdirAll(filepath.Join(dir, "real"), 0o755))
	must(t, os.Symlink("/real", filepath.Join(dir, "etc")))
	mode := uint32(0o755)
	file := ownedFile("#!/bin/sh\n")
	file.Mode = &mode
	var staged string
	file.Check = func(_ context.Context, path string) error {
		staged = path
		info, err := h.Lstat(path)
		if err == nil && (info.Mode != 0o755 || info.Size != 10) {
			err = fmt.Errorf("it is %+v", info)
		}
		return err
	}
	_, err := h.WriteFile(t.Context(), "/etc/;touch $(id)\n"+strings.Repeat("n", 230), file)
	must(t, err)
	if !regexp.MustCompile(`^/etc/\.fettle-[A-Z2-7]{26}$`).MatchString(staged) {
		t.Errorf("staged as %q", staged)
	}
}

func TestWriteFileReplacesSymlinksAndRejectsDirectories(t *testing.T) {
	h, dir := tempRoot(t)
	put(t, filepath.Join(dir, "precious"), "kept")
	must(t, os.Symlink("precious", filepath.Join(dir, "link")))
	must(t, os.Mkdir(filepath.Join(dir, "dir"), 0o755))

	_, err := h.WriteFile(t.Context(), "/link", ownedFile("new"))
	must(t, err)
	if got := read(t, filepath.Join(dir, "precious")); got != "kept" {
		t.Errorf("the target of the symlink contains %q", got)
	}
	if info, err := h.Lstat("/link"); err != nil || !info.IsRegular() {
		t.Errorf("the symlink is now %+v, %v", info, err)
	}

	touched := iotest.ErrReader(errors.New("the content was read"))
	for _, path := range []string{"/dir", "/dir/"} {
		_, err = h.WriteFile(t.Context(), path, host.NewFile{Content: touched})
		if !errors.Is(err, syscall.EISDIR) {
			t.Errorf("WriteFile(%q) over a directory: %v", path, err)
		}
	}
	for _, path := range []string{"/", "/dir/..", "/dir/.", "", "dir/f"} {
		if _, err := h.WriteFile(t.Context(), path, ownedFile("x")); err == nil {
			t.Errorf("WriteFile(%q) wrote", path)
		}
	}
	if diff := cmp.Diff([]string{"dir", "link", "precious"}, tree(t, dir)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

// The directory is replaced by a symlink between resolution and write: in Check, the latest possible moment.
func TestWriteStaysInOpenedDirectory(t *testing.T) {
	h, dir := tempRoot(t)
	must(t, os.Mkdir(filepath.Join(dir, "home"), 0o755))
	must(t, os.Mkdir(filepath.Join(dir, "etc"), 0o755))
	file := ownedFile("mine")
	file.Check = func(context.Context, string) error {
		return errors.Join(os.Rename(filepath.Join(dir, "home"), filepath.Join(dir, "moved")),
			os.Symlink("etc", filepath.Join(dir, "home")))
	}
	_, err := h.WriteFile(t.Context(), "/home/passwd", file)
	must(t, err)
	if diff := cmp.Diff([]string{"etc", "home", "moved", "moved/passwd"}, tree(t, dir)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}
