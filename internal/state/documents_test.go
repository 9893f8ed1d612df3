package state_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/state"
)

func TestDocumentsRoundTrip(t *testing.T) {
	dir := t.TempDir()
	d := state.NewDocuments(dir, "catalogs", state.Options{Now: noon})
	if _, err := d.Get("sha256-ab"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing document gives %v", err)
	}
	must(t, d.Retain("sha256-ab"))
	must(t, d.Put("sha256-ab", []byte("{}")))
	must(t, d.Put("sha256-cd", []byte("two\nlines\n")))
	before := tree(t, dir)
	must(t, d.Put("sha256-cd", []byte("two\nlines\n")))
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Error("put again, it was written again:", diff)
	}

	again := state.NewDocuments(dir, "catalogs", state.Options{Now: noon})
	got, err := again.Get("sha256-cd")
	must(t, err)
	if string(got) != "two\nlines\n" {
		t.Errorf("got %q", got)
	}
	must(t, again.Retain("sha256-ab"))
	if _, err := again.Get("sha256-cd"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was not retained gives %v", err)
	}
	_, err = again.Get("sha256-ab")
	must(t, err)
}

func TestStateIsReadableOnlyByRoot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lib/fettle")
	d := state.NewDocuments(dir, "catalogs", state.Options{})
	must(t, d.Put("one", []byte("{}")))
	for path, want := range map[string]fs.FileMode{
		filepath.Dir(dir): 0o755, dir: 0o700, filepath.Join(dir, "catalogs"): 0o700, filepath.Join(dir, "catalogs/one.json"): 0o600,
	} {
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
		}
	}
}

func TestDamagedDocumentIsSetAside(t *testing.T) {
	for name, damage := range map[string]func(good string) string{
		"another text": func(string) string { return "half of" },
		"cut short":    func(good string) string { return good[:len(good)-1] },
		"one bit":      func(good string) string { return strings.Replace(good, "{}", "{|", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d := state.NewDocuments(dir, "catalogs", state.Options{Now: noon})
			must(t, d.Put("one", []byte("{}")))
			file := filepath.Join(dir, "catalogs/one.json")
			good, err := os.ReadFile(file)
			must(t, err)
			must(t, os.WriteFile(file, []byte(damage(string(good))), 0o600))
			must(t, os.WriteFile(filepath.Join(dir, "catalogs/.new-123"), []byte("left over"), 0o600))

			_, err = d.Get("one")
			var damaged *state.DamagedError
			if !errors.As(err, &damaged) {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(&state.DamagedError{Name: "one", Aside: file + ".bad-20260102T120000.000000000Z"}, damaged); diff != "" {
				t.Error(diff)
			}
			if _, err := d.Get("one"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("once set aside it gives %v", err)
			}
			must(t, d.Retain())
			left, err := filepath.Glob(filepath.Join(dir, "catalogs/.*"))
			must(t, err)
			if len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

func TestInvalidDocumentNameIsRejected(t *testing.T) {
	d := state.NewDocuments(t.TempDir(), "catalogs", state.Options{})
	for _, name := range []string{"", "../state", "a/b", ".hidden"} {
		if err := d.Put(name, nil); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
}
