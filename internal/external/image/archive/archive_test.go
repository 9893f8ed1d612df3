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
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/external/image/archive"
)

// A sink has what was unpacked: contents, "dir" and "-> target". It refuses what a file system would: files without a directory.
type sink map[string]string

func (s sink) parent(name string) error {
	if i := strings.LastIndex(name, "/"); i >= 0 && s[name[:i]] != "dir" {
		return errors.New("no directory for " + name)
	}
	return nil
}

func (s sink) Mkdir(name string) error {
	if _, ok := s[name]; ok {
		return errors.New("it exists: " + name)
	}
	err := s.parent(name)
	s[name] = "dir"
	return err
}

func (s sink) WriteFile(_ context.Context, name string, executable bool, content io.Reader) ([sha256.Size]byte, error) {
	hash := sha256.New()
	text, err := io.ReadAll(io.TeeReader(io.LimitReader(content, 100), hash))
	_, _ = io.Copy(hash, content)
	if s[name] = string(text); executable {
		s[name] += " (executable)"
	}
	return [sha256.Size]byte(hash.Sum(nil)), errors.Join(err, s.parent(name))
}

func (s sink) Symlink(target, name string) error {
	s[name] = "-> " + target
	return s.parent(name)
}

func (s sink) Remove(name string) error {
	maps.DeleteFunc(s, func(other, _ string) bool { return other == name || strings.HasPrefix(other, name+"/") })
	return nil
}

// An entry is a header and the content of a file.
type entry struct {
	tar.Header
	text string
}

func file(name, text string, mode int64) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(text))}, text}
}

func dir(name string) entry {
	return entry{tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o777}, ""}
}

func link(kind byte, name, target string) entry {
	return entry{tar.Header{Typeflag: kind, Name: name, Linkname: target}, ""}
}

func layer(t *testing.T, all ...entry) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range all {
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func unpack(t *testing.T, layers ...io.Reader) (sink, []archive.Entry, error) {
	t.Helper()
	s := sink{}
	u := archive.NewUnpacker(s)
	for _, l := range layers {
		if err := u.Layer(t.Context(), l); err != nil {
			return s, nil, err
		}
	}
	all, err := u.Finish()
	return s, all, err
}

func TestLayersAreUnpackedInOrder(t *testing.T) {
	t.Parallel()

	got, entries, err := unpack(t,
		layer(t, dir("./"), dir("lib/"), file("lib/old", "old", 0o644), file("lib/kept", "kept", 0o600), file("./main", "one", 0o4755), file("a/b/c", "deep", 0o777), file("gone", "x", 0o644)),
		layer(t, file("main", "two", 0o711), file(".wh.gone", "", 0), file("a/.wh..wh..opq", "", 0), file("a/new", "new", 0o444), link(tar.TypeSymlink, "lib/old", "../a/new"), link(tar.TypeSymlink, "also", "lib")),
	)
	if err != nil {
		t.Fatal(err)
	}
	want := sink{"lib": "dir", "lib/kept": "kept", "lib/old": "-> ../a/new", "main": "two (executable)", "a": "dir", "a/new": "new", "also": "-> lib"}
	if !maps.Equal(got, want) {
		t.Errorf("unpacked %q, want %q", got, want)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Kind+" "+e.Name)
	}
	if want := []string{"Directory a", "File a/new", "Symlink also", "Directory lib", "File lib/kept", "Symlink lib/old", "File main"}; !slices.Equal(names, want) {
		t.Errorf("the entries are %q, want %q", names, want)
	}
}

// Nothing of these archives can be outside of the directory, be anything but a file with plain permissions, or fill the disk.
func TestHostileArchivesAreRefused(t *testing.T) {
	t.Parallel()

	many := make([]entry, 0, archive.MaxEntries+1)
	for range archive.MaxEntries + 1 {
		many = append(many, dir("d"))
	}
	deep := strings.Repeat("d/", 40) + "f"
	parents := make([]entry, 0, 400) // each has 31 parents that the archive does not list
	for i := range 400 {
		parents = append(parents, file(strings.Repeat(string(rune('a'+i/26))+string(rune('a'+i%26))+"/", 30)+"f", "", 0))
	}
	for name, c := range map[string]struct {
		layers []io.Reader
		want   string
	}{
		"a name that leads up":               {[]io.Reader{layer(t, file("../evil", "x", 0o755))}, "outside of the program's directory"},
		"a name that leads up later":         {[]io.Reader{layer(t, file("a/../../evil", "x", 0o755))}, "outside of the program's directory"},
		"an absolute name":                   {[]io.Reader{layer(t, file("/etc/passwd", "x", 0o755))}, "outside of the program's directory"},
		"a name with a line break":           {[]io.Reader{layer(t, file("a\nb", "x", 0o755))}, "control characters"},
		"a name that is not UTF-8":           {[]io.Reader{layer(t, file("a\xffb", "x", 0o755))}, "not UTF-8"},
		"a deep name":                        {[]io.Reader{layer(t, file(deep, "x", 0o755))}, "more than 32 directories"},
		"a symlink out":                      {[]io.Reader{layer(t, link(tar.TypeSymlink, "a", "../etc"))}, "leads out of the program's directory"},
		"an absolute symlink":                {[]io.Reader{layer(t, link(tar.TypeSymlink, "a", "/etc/passwd"))}, "needs a relative path"},
		"a symlink to nothing":               {[]io.Reader{layer(t, link(tar.TypeSymlink, "a", "b"))}, "not in the artifact"},
		"symlinks in a circle":               {[]io.Reader{layer(t, link(tar.TypeSymlink, "a", "b"), link(tar.TypeSymlink, "b", "a"))}, "too many others"},
		"a symlink out by another one":       {[]io.Reader{layer(t, file("x/y/f", "", 0), link(tar.TypeSymlink, "x/y/up", "../.."), link(tar.TypeSymlink, "x/y/out", "up/../etc"))}, "leads out"},
		"a file below a symlink":             {[]io.Reader{layer(t, file("d/f", "", 0), link(tar.TypeSymlink, "a", "d"), file("a/f", "x", 0o755))}, "not a directory"},
		"a file below a symlink in a layer":  {[]io.Reader{layer(t, file("d/f", "", 0), link(tar.TypeSymlink, "a", "d")), layer(t, file("a/f", "x", 0o755))}, "not a directory"},
		"a file below a file":                {[]io.Reader{layer(t, file("a", "", 0), file("a/f", "x", 0o755))}, "not a directory"},
		"a hard link":                        {[]io.Reader{layer(t, file("a", "x", 0o644), link(tar.TypeLink, "b", "a"))}, "hard link"},
		"a hard link out":                    {[]io.Reader{layer(t, link(tar.TypeLink, "b", "/etc/shadow"))}, "hard link"},
		"a device":                           {[]io.Reader{layer(t, link(tar.TypeBlock, "sda", ""))}, "not a file, a directory or a symlink"},
		"a character device":                 {[]io.Reader{layer(t, link(tar.TypeChar, "mem", ""))}, "not a file, a directory or a symlink"},
		"a fifo":                             {[]io.Reader{layer(t, link(tar.TypeFifo, "fifo", ""))}, "not a file, a directory or a symlink"},
		"many entries":                       {[]io.Reader{layer(t, many...)}, "more than 10000 files"},
		"many entries in layers":             {[]io.Reader{layer(t, many[:6000]...), layer(t, many[:6000]...)}, "more than 10000 files"},
		"many parents":                       {[]io.Reader{layer(t, parents...)}, "more than 10000 files"},
		"a bomb of zeros in a file":          {[]io.Reader{bomb(t, header("f", 1<<40))}, "exceed 256 MiB"},
		"a bomb of zeros after the archive":  {[]io.Reader{bomb(t, nil)}, "much larger than its files"},
		"a sparse file":                      {[]io.Reader{bytes.NewReader(sparse(t))}, "exceed 256 MiB"},
		"an archive that ends in the middle": {[]io.Reader{io.LimitReader(layer(t, file("a", strings.Repeat("x", 1000), 0)), 700)}, "unexpected EOF"},
		"no archive":                         {[]io.Reader{strings.NewReader("hello, this is not an archive at all")}, "unexpected EOF"},
		"damaged gzip":                       {[]io.Reader{strings.NewReader("\x1f\x8bhello, this is not gzip")}, "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := unpack(t, c.layers...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, and there are %d entries", err, len(got))
			}
			for at, is := range got {
				if strings.HasPrefix(at, "/") || strings.HasPrefix(at, "..") || strings.HasPrefix(is, "-> ..") {
					t.Errorf("there is %s: %s", at, is)
				}
			}
		})
	}
}

func TestHugeHeadersAreRefused(t *testing.T) {
	t.Parallel()

	const size = 2 << 20
	h := header("f", size)
	h[typeflag] = tar.TypeXHeader
	setChecksum(h)
	record := "2097152 FETTLE.x=" + strings.Repeat("x", size)
	_, _, err := unpack(t, strings.NewReader(string(h)+record[:size-1]+"\n"+string(header("f", 0))))
	if err == nil || !strings.Contains(err.Error(), "header field too long") {
		t.Errorf("the error is %v", err)
	}
}

// Offsets in a header.
const (
	checksum = 148
	typeflag = 156
)

// setChecksum sets the checksum of a header: the sum of its bytes, where those of the checksum count as blanks.
func setChecksum(header []byte) {
	copy(header[checksum:], "        ")
	sum := 0
	for _, b := range header {
		sum += int(b)
	}
	copy(header[checksum:], fmt.Sprintf("%06o\x00 ", sum))
}

// header returns a header without content.
func header(name string, size int64) []byte {
	var b bytes.Buffer
	_ = tar.NewWriter(&b).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size})
	return b.Bytes()
}

// bomb returns a gzip stream that begins with an archive, and goes on with 400 MiB of zeros.
func bomb(t *testing.T, begin []byte) io.Reader {
	t.Helper()
	zipped := func(text []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := w.Write(text)
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	return bytes.NewReader(append(zipped(begin), bytes.Repeat(zipped(make([]byte, 1<<20)), 400)...))
}

// sparse returns an archive of a few KiB with a file of a terabyte, as GNU tar --sparse writes it.
func sparse(t *testing.T) []byte {
	t.Helper()
	text := "1\n1099511627775\n1\n"
	text += strings.Repeat("\x00", 512-len(text)) + "x"
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	h := tar.Header{Typeflag: tar.TypeReg, Name: "f", Size: int64(len(text)), Format: tar.FormatPAX, PAXRecords: map[string]string{
		"FETTLE.sparse.major": "1", "FETTLE.sparse.minor": "0", "FETTLE.sparse.name": "f", "FETTLE.sparse.realsize": "1099511627776",
	}}
	err := w.WriteHeader(&h)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	// The writer refuses these records by their own name, whose length differs by three.
	return bytes.NewBuffer(replaceRecords(b.Bytes())).Bytes()
}

// replaceRecords renames PAX records to those of GNU tar without changing lengths: the length of each record is part of it.
func replaceRecords(archive []byte) []byte {
	for _, name := range []string{"major=1", "minor=0", "name=f", "realsize=1099511627776"} {
		old := " FETTLE.sparse." + name + "\n"
		short := " GNU.sparse." + name + "\n"
		// A record is its length in decimal, a blank, key=value and a line break. Leading zeros keep the size of the block.
		i := bytes.Index(archive, []byte(old))
		for start := i - 1; start >= 0; start-- {
			if archive[start] < '0' || archive[start] > '9' {
				record := "000" + string(archive[start+1:i])
				copy(archive[start+1:], record+short)
				fixLength(archive[start+1:], len(record)+len(short))
				break
			}
		}
	}
	return archive
}

// fixLength writes the length of a record over the digits that it begins with.
func fixLength(record []byte, length int) {
	for i := bytes.IndexByte(record, ' ') - 1; i >= 0; i-- {
		record[i] = byte('0' + length%10)
		length /= 10
	}
}

func TestPackedFilesAreReproducibleAndCanBeUnpacked(t *testing.T) {
	t.Parallel()

	files := []archive.Source{{Name: "lib/a.py", Content: []byte("a")}, {Name: "main", Executable: true, Content: []byte("m")}}
	var one, two bytes.Buffer
	if err := archive.Pack(&one, files); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(files)
	if err := archive.Pack(&two, files); err != nil || !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Errorf("the order of files matters: %v", err)
	}
	got, _, err := unpack(t, &one)
	if want := (sink{"lib": "dir", "lib/a.py": "a", "main": "m (executable)"}); err != nil || !maps.Equal(got, want) {
		t.Errorf("unpacked %q, %v, want %q", got, err, want)
	}
	for _, name := range []string{"../a", "/a", ".wh.a"} {
		if err := archive.Pack(io.Discard, []archive.Source{{Name: name}}); err == nil {
			t.Errorf("%s was packed", name)
		}
	}
}
