package own_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/host/own"
)

// refused reports whether the file that a path leads to is refused.
func refused(t *testing.T, h host.Reader, files *own.Files, path string) bool {
	t.Helper()
	info, err := h.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	err = files.Refuse(path, info)
	refusal, ok := errors.AsType[*own.Error](err)
	if err != nil && (!ok || refusal.Path != path) {
		t.Fatalf("refused %s: %v", path, err)
	}
	return err != nil
}

func TestOwnFilesAreRecognizedByAnyPath(t *testing.T) {
	t.Parallel()
	h := hosttest.New(t)
	h.Put("/state/keys/key", "secret")
	h.Put("/state-too/file", "no secret")
	h.Put("/token", "secret")
	in := func(path string) string { return filepath.Join(h.Dir(), path) }
	if err := errors.Join(os.Link(in("/state/keys/key"), in("/hard")), os.Symlink("/state/keys/key", in("/soft")), os.Symlink("/token", in("/to-token"))); err != nil {
		t.Fatal(err)
	}
	files := own.New(own.Root{Host: h, Paths: []string{"/state", "/missing"}}, own.Root{Host: h, Paths: []string{"/to-token"}})
	for _, path := range []string{"/state", "/state/keys", "/state/keys/key", "/hard", "/soft", "/token"} {
		if !refused(t, h, files, path) {
			t.Errorf("%s is not refused", path)
		}
	}
	for _, path := range []string{"/", "/state-too", "/state-too/file"} {
		if refused(t, h, files, path) {
			t.Errorf("%s is refused", path)
		}
	}
}

func TestRefreshFindsNewFiles(t *testing.T) {
	t.Parallel()
	h := hosttest.New(t)
	h.PutDir("/other")
	files := own.New(own.Root{Host: h, Paths: []string{"/state"}})
	if refused(t, h, files, "/other") {
		t.Error("a directory that is not Fettle's is refused")
	}
	h.Put("/state/key", "secret")
	files.Refresh()
	if !refused(t, h, files, "/state/key") {
		t.Error("a file that was created later is not refused")
	}
}

// The number of a file that was removed belongs to another file soon.
func TestInodeOfARemovedFileIsForgotten(t *testing.T) {
	t.Parallel()
	h := hosttest.New(t)
	h.Put("/state/key", "secret")
	files := own.New(own.Root{Host: h, Paths: []string{"/state"}})
	if !refused(t, h, files, "/state/key") {
		t.Fatal("the key is not refused")
	}
	if err := os.Rename(filepath.Join(h.Dir(), "state/key"), filepath.Join(h.Dir(), "free")); err != nil {
		t.Fatal(err)
	}
	if refused(t, h, files, "/free") {
		t.Error("a file that is no longer Fettle's is refused")
	}
}

func TestDirectoriesAboveOwnFilesAreKnown(t *testing.T) {
	t.Parallel()
	h := hosttest.New(t)
	h.PutDir("/a/state/keys")
	h.PutDir("/a/other")
	files := own.New(own.Root{Host: h, Paths: []string{"/a/state"}})
	for path, want := range map[string]bool{"/": true, "/a": true, "/a/other": false, "/a/state": false} {
		info, err := h.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := files.Below(info); got != want {
			t.Errorf("Below(%s) is %t", path, got)
		}
	}
}

func TestNilFilesRefuseNothing(t *testing.T) {
	t.Parallel()
	var none *own.Files
	none.Refresh()
	if err := none.Refuse("/", host.FileInfo{}); err != nil || none.Below(host.FileInfo{}) {
		t.Error("no files are some")
	}
}

func TestBucketContentsAreNotRefused(t *testing.T) {
	t.Parallel()
	h := hosttest.New(t)
	h.Put("/state/bucket/ab/abcd/contents", "former")
	h.Put("/state/bucket/secrets", "digests")
	files := own.New(own.Root{Host: h, Paths: []string{"/state"}, Bucket: "/state/bucket"})
	for path, want := range map[string]bool{"/state": true, "/state/bucket": true, "/state/bucket/secrets": true, "/state/bucket/ab/abcd/contents": false} {
		if got := refused(t, h, files, path); got != want {
			t.Errorf("%s is refused: %t", path, got)
		}
	}
}
