package state_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/fettle-dev/fettle/internal/state"
)

// A document is what was put, or it is missing: whatever else lies in its place is set
// aside, and nothing of it comes back.
func FuzzDocument(f *testing.F) {
	f.Add([]byte("sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"), []byte("{}"))
	f.Add([]byte("sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"), []byte("5"))
	f.Add([]byte("sha256-\n{}"), []byte(""))
	f.Add([]byte(""), []byte("a\nb\r\n\x00"))
	f.Fuzz(func(t *testing.T, onDisk, body []byte) {
		dir := t.TempDir()
		d := state.NewDocuments(dir, "docs", state.Options{})
		if err := d.Put("a", body); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Get("a"); err != nil || !bytes.Equal(got, body) {
			t.Fatalf("put %q, got %q, %v", body, got, err)
		}
		file := filepath.Join(dir, "docs", "a.json")
		intact, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, onDisk, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := d.Get("a")
		if sum, rest, whole := bytes.Cut(onDisk, []byte("\n")); err == nil && (!bytes.Equal(got, rest) || len(sum) == 0 || !whole) {
			t.Errorf("%q reads as %q", onDisk, got)
		}
		if bytes.Equal(onDisk, intact) && err != nil {
			t.Errorf("%q gives %q, %v", onDisk, got, err)
		}
		if _, damaged := errors.AsType[*state.DamagedError](err); err != nil && !damaged {
			t.Errorf("%q is an error of another kind: %v", onDisk, err)
		}
		if _, again := d.Get("a"); err != nil && !errors.Is(again, fs.ErrNotExist) {
			t.Errorf("%q was set aside and then gave %v", onDisk, again)
		}
	})
}

func BenchmarkDocument(b *testing.B) {
	d, body := state.NewDocuments(b.TempDir(), "docs", state.Options{}), bytes.Repeat([]byte("x"), 1<<20)
	if err := d.Put("a", body); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if got, err := d.Get("a"); err != nil || len(got) != len(body) {
			b.Fatal(len(got), err)
		}
	}
}
