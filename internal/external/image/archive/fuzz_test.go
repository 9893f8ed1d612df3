package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/external/image/archive"
)

// A disk is a sink on a file system, which would follow any path. It counts what it gets, and stores no content.
type disk struct {
	dir   string
	bytes int64
}

func (d *disk) Mkdir(name string) error { return os.Mkdir(filepath.Join(d.dir, name), 0o755) }

func (d *disk) WriteFile(_ context.Context, name string, executable bool, content io.Reader) (sum [sha256.Size]byte, err error) {
	mode := os.FileMode(0o644)
	if executable {
		mode = 0o755
	}
	f, err := os.OpenFile(filepath.Join(d.dir, name), os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode)
	if err != nil {
		return sum, err
	}
	hash := sha256.New()
	n, err := io.Copy(hash, content)
	d.bytes += n
	return [sha256.Size]byte(hash.Sum(nil)), errors.Join(err, f.Close())
}

func (d *disk) Symlink(target, name string) error {
	return os.Symlink(target, filepath.Join(d.dir, name))
}

func (d *disk) Remove(name string) error { return os.RemoveAll(filepath.Join(d.dir, name)) }

// hold checks what must be true whatever was unpacked into the directory root/program.
func (d *disk) hold(t *testing.T, all []archive.Entry, err error) {
	t.Helper()
	if beside, err := os.ReadDir(filepath.Dir(d.dir)); err != nil || len(beside) != 1 {
		t.Fatalf("there is something beside the directory: %v, %v", beside, err)
	}
	if d.bytes > archive.MaxBytes || len(all) > archive.MaxEntries {
		t.Fatalf("there are %d bytes in %d entries", d.bytes, len(all))
	}
	if err == nil {
		d.holdEntries(t, all)
	}
}

// holdEntries checks that the files are the entries, and that no symlink leads out.
func (d *disk) holdEntries(t *testing.T, all []archive.Entry) {
	t.Helper()
	listed := map[string]archive.Entry{}
	for _, e := range all {
		listed[e.Name] = e
	}
	err := filepath.WalkDir(d.dir, func(full string, is fs.DirEntry, err error) error {
		if err != nil || full == d.dir {
			return err
		}
		name, err := filepath.Rel(d.dir, full)
		if err != nil {
			return err
		}
		e, ok := listed[name]
		delete(listed, name)
		kinds := map[fs.FileMode]string{0: archive.File, fs.ModeDir: archive.Directory, fs.ModeSymlink: archive.Symlink}
		if !ok || e.Kind != kinds[is.Type()] {
			return fmt.Errorf("%q has the mode %s, and the entry is %+v", name, is.Type(), e)
		}
		if e.Kind != archive.Symlink {
			return nil
		}
		to, err := filepath.EvalSymlinks(full)
		if err == nil && to != d.dir && !strings.HasPrefix(to, d.dir+"/") {
			err = fmt.Errorf("%q leads to %s", name, to)
		}
		return err
	})
	if err != nil || len(listed) > 0 {
		t.Fatalf("%v; entries without files: %v", err, listed)
	}
}

// unpackTo unpacks layers into a new directory, and checks what must be true of it.
func unpackTo(t *testing.T, layers ...io.Reader) {
	t.Helper()
	d := &disk{dir: filepath.Join(t.TempDir(), "program")}
	if err := os.Mkdir(d.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	u := archive.NewUnpacker(d)
	var all []archive.Entry
	var err error
	for _, l := range layers {
		if err == nil {
			err = u.Layer(t.Context(), l)
		}
	}
	if err == nil {
		all, err = u.Finish()
	}
	d.hold(t, all, err)
}

// Nobody checks a layer before it is unpacked.
func FuzzLayer(f *testing.F) {
	var plain, zipped bytes.Buffer
	w := tar.NewWriter(&plain)
	for _, e := range []entry{dir("lib/"), file("lib/a", "text", 0o755), link(tar.TypeSymlink, "b", "lib/a"), file("lib/.wh.a", "", 0)} {
		_ = w.WriteHeader(&e.Header)
		_, _ = io.WriteString(w, e.text)
	}
	_ = w.Close()
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(plain.Bytes())
	_ = z.Close()
	f.Add(plain.Bytes(), plain.Bytes())
	f.Add(zipped.Bytes(), []byte("\x1f\x8b"))
	f.Add(header("../a", 1<<40), header("a", -1))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		unpackTo(t, bytes.NewReader(one), bytes.NewReader(two))
	})
}

// A script makes archives whose headers are well-formed: each step takes a few bytes.
func FuzzEntries(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	f.Add([]byte("\x02\x00\x03\x02\x01\x03\x01\x04\x00\x03\x05\x06"))
	f.Add(bytes.Repeat([]byte{2, 7, 1, 0, 3, 3}, 20))
	f.Fuzz(func(t *testing.T, script []byte) {
		var layers []io.Reader
		for part := range bytes.SplitSeq(script, []byte{0xff}) {
			layers = append(layers, bytes.NewReader(archiveOf(part)))
		}
		unpackTo(t, layers...)
	})
}

// archiveOf returns an archive with an entry for each three bytes: its type, its name and the target of a link.
func archiveOf(script []byte) []byte {
	kinds := []byte{tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeSymlink, tar.TypeLink, tar.TypeChar, tar.TypeFifo, tar.TypeGNUSparse}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for ; len(script) >= 3; script = script[3:] {
		h := tar.Header{Typeflag: kinds[int(script[0])%len(kinds)], Name: pathOf(script[1]), Mode: int64(script[0]) << 3}
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(script[2])
		} else {
			h.Linkname = pathOf(script[2])
		}
		if w.WriteHeader(&h) == nil {
			_, _ = w.Write(make([]byte, h.Size))
		}
	}
	_ = w.Close()
	return b.Bytes()
}

// pathOf returns a path of two parts, such as lib/.. .
func pathOf(b byte) string {
	parts := []string{"a", "b", "c", ".", "..", "", "/", ".wh.a", ".wh.", ".wh..", ".wh...", ".wh..wh..opq", "a/b", "b/a", "../a", strings.Repeat("d/", 31)}
	return strings.TrimSuffix(parts[b>>4]+"/"+parts[b&0xf], "/")
}

// Parents count, too, also if the entries that follow have none.
func TestNoMoreEntriesAreUnpackedThanAllowed(t *testing.T) {
	t.Parallel()

	var all []entry
	for i := range 320 { // 30 parents each
		all = append(all, file(fmt.Sprintf("%d/%sf", i, strings.Repeat("d/", 29)), "", 0))
	}
	for i := range archive.MaxEntries - len(all) {
		all = append(all, file(fmt.Sprint("f", i), "", 0))
	}
	got, _, err := unpack(t, layer(t, all...))
	if err == nil || !strings.Contains(err.Error(), "more than 10000 files") || len(got) > archive.MaxEntries {
		t.Errorf("there are %d entries, and the error is %v", len(got), err)
	}
}
