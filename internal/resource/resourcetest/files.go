package resourcetest

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
)

// Files takes a snapshot of files, and of directories with their contents: kind, mode, owner, and
// the content or the target of a symlink. It omits times and inodes. Missing files are listed as
// absent.
func Files(h host.Reader, paths ...string) func(t *testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		var b strings.Builder
		for _, path := range paths {
			if err := describe(&b, h, path); err != nil {
				t.Fatalf("cannot take a snapshot: %v", err)
			}
		}
		return b.String()
	}
}

func describe(b *strings.Builder, h host.Reader, path string) error {
	info, err := h.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(b, "%s absent\n", path)
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "%s %s %04o %d:%d\n", path, info.Type, info.Mode, info.UID, info.GID)
	switch {
	case info.IsDir():
		return describeAll(b, h, path)
	case info.IsSymlink():
		text, err := h.Readlink(path)
		fmt.Fprintf(b, "  -> %s\n", text)
		return err
	case info.IsRegular():
		content, err := h.ReadFile(path)
		fmt.Fprintf(b, "  %s\n", strings.ReplaceAll(string(content), "\n", "\n  "))
		return err
	}
	return nil
}

func describeAll(b *strings.Builder, h host.Reader, dir string) error {
	names, err := h.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := describe(b, h, strings.TrimSuffix(dir, "/")+"/"+name); err != nil {
			return err
		}
	}
	return nil
}
