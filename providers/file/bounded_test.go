package file_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers/file"
)

// sparseHost returns a host with the files /x and /src/x of this size, all of it a hole.
func sparseHost(t *testing.T, size int64) (h *linux.Host, dir string) {
	t.Helper()
	dir = t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "src"), 0o755))
	for _, name := range []string{"x", "src/x"} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		must(t, os.Truncate(filepath.Join(dir, name), size))
	}
	h, err := linux.Open(linux.Options{Root: dir})
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	return h, dir
}

// runUntil runs a File, with these properties audited, until ctx ends.
func runUntil(ctx context.Context, t *testing.T, h host.Host, spec string, audited ...string) report.Report {
	t.Helper()
	kind := bound.Kind(file.Type(nowhere))
	raw, err := yaml.YAMLToJSON([]byte(spec))
	must(t, err)
	item := resource.Item{Ref: resource.Ref{Kind: "File", Name: "a"}, Audit: len(audited) > 0}
	item.Resource, err = kind.Bind(item.Ref, raw)
	must(t, err)
	if item.Audit {
		must(t, item.Resource.Audit(audited))
	}
	items := []resource.Item{item}
	result, err := engine.Transaction{Host: h, Bucket: bucket.New(h, bucket.DefaultDir, 0), Kinds: []resource.Kind{kind}, Now: time.Now}.Run(ctx, items)
	must(t, err)
	return result
}

// unreadable are Files of which each reads the content of /x, with the properties that are audited.
var unreadable = map[string]struct {
	spec    string
	audited []string
}{
	"an audit":                         {spec: `{path: /x}`, audited: []string{"content"}},
	"a comparison by a checksum":       {spec: `{path: /x, checksumValue: ` + strings.Repeat("f", 64) + `, source: /none, backup: None}`},
	"a source":                         {spec: `{path: /y, source: /x}`},
	"a copy of a source":               {spec: `{path: /y, source: /x, checksum: mtime}`},
	"a copy of a directory":            {spec: `{path: /z, source: /src, recurse: true}`},
	"a backup":                         {spec: `{path: /x, content: small}`},
	"a backup beside the file":         {spec: `{path: /x, content: small, backup: .bak}`},
	"a backup of a file to be removed": {spec: `{path: /x, ensure: absent}`},
}

// A user can make a file of 2 TiB in a moment. Reading it would take an hour.
func TestContentOfHugeFilesIsNotRead(t *testing.T) {
	t.Parallel()
	for sentence, c := range unreadable {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			h, _ := sparseHost(t, 2<<40)
			lines := strings.Join(reportLines(runUntil(t.Context(), t, h, c.spec, c.audited...)), "\n")
			const want = "it has 2199023255552 bytes, and the content of at most 16 GiB is read: compare it by checksum: mtime, audit mtime"
			if !strings.Contains(lines, want) {
				t.Errorf("got %s", lines)
			}
		})
	}
}

// interrupted ends a run as soon as the content of a file is read, and counts what is read after that.
type interrupted struct {
	host.Host
	end  context.CancelFunc
	read *int
}

func (h interrupted) Lookup(path string, links host.Links) (host.Handle, error) {
	f, err := h.Host.Lookup(path, links)
	if err != nil {
		return nil, err
	}
	return interruptedHandle{f, h}, nil
}

type interruptedHandle struct {
	host.Handle
	h interrupted
}

func (f interruptedHandle) Child(name string) (host.Handle, error) {
	child, err := f.Handle.Child(name)
	if err != nil {
		return nil, err
	}
	return interruptedHandle{child, f.h}, nil
}

func (f interruptedHandle) Open() (io.ReadCloser, error) {
	r, err := f.Handle.Open()
	if err != nil {
		return nil, err
	}
	return interruptedReader{r, f.h}, nil
}

type interruptedReader struct {
	io.ReadCloser
	h interrupted
}

func (r interruptedReader) Read(p []byte) (int, error) {
	r.h.end()
	n, err := r.ReadCloser.Read(p)
	*r.h.read += n
	return n, err
}

func TestReadingEndsWithTheRun(t *testing.T) {
	t.Parallel()
	for sentence, c := range unreadable {
		if strings.Contains(c.spec, "content") || strings.Contains(c.spec, "absent") {
			continue // a backup ends at the limit of the bucket
		}
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			h, dir := sparseHost(t, host.MaxContent)
			ctx, end := context.WithCancel(t.Context())
			defer end()
			read := 0
			result := runUntil(ctx, t, interrupted{h, end, &read}, c.spec, c.audited...)
			if read == 0 || read > 1<<20 {
				t.Errorf("%d bytes were read", read)
			}
			lines := strings.Join(reportLines(result), "\n")
			if !strings.Contains(lines, "the run was stopped before") {
				t.Errorf("got %s", lines)
			}
			if names, err := os.ReadDir(dir); err != nil || len(names) > 4 {
				t.Errorf("the host has %v, %v", names, err)
			}
		})
	}
}

// A user can make a file that is larger than the disk.
func TestCopiesOfSparseFilesTakeNoRoom(t *testing.T) {
	t.Parallel()
	const size, end = 64 << 20, "the end"
	for _, spec := range []string{
		`{path: /y, source: /x}`,
		`{path: /z, source: /src, recurse: true}`,
		`{path: /x, content: small}`,
		`{path: /x, content: small, backup: .bak}`,
	} {
		for _, text := range []string{"", end} {
			t.Run(spec+text, func(t *testing.T) {
				t.Parallel()
				h, dir := sparseHost(t, size)
				for _, name := range []string{"x", "src/x"} {
					f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
					must(t, err)
					_, err = f.WriteAt([]byte(text), size-int64(len(text)))
					must(t, err)
					must(t, f.Close())
				}
				runUntil(t.Context(), t, h, spec)
				copied := copyOf(t, dir, size)
				var st unix.Stat_t
				must(t, unix.Stat(copied, &st))
				if st.Blocks*512 > 1<<20 {
					t.Errorf("%s takes %d bytes", copied, st.Blocks*512)
				}
				data, err := os.ReadFile(copied)
				must(t, err)
				if want := strings.Repeat("\x00", size-len(text)) + text; string(data) != want {
					t.Errorf("%s has another content", copied)
				}
			})
		}
	}
}

// copyOf returns the only other file of this size.
func copyOf(t *testing.T, dir string, size int64) (file string) {
	t.Helper()
	must(t, filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() && info.Size() == size && p != filepath.Join(dir, "x") && p != filepath.Join(dir, "src/x") {
			file = p
		}
		return err
	}))
	if file == "" {
		t.Fatal("there is no copy")
	}
	return file
}

// A file that cannot be backed up is never corrected. The plan says so.
func TestPlanSaysThatAFileIsTooLargeForTheBucket(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{`{path: /x, content: small}`, `{path: /x, ensure: absent}`, `{path: /x, target: /y}`, `{path: /x, content: small, backup: .bak}`} {
		h, _ := sparseHost(t, bucket.DefaultLimit)
		var said []string
		for _, noop := range []bool{true, false} {
			lines := strings.Join(reportLines(runForest(t, h, forest{files: []string{spec}, noop: noop})), "\n")
			_, reason, _ := strings.Cut(lines, "cannot back up")
			said = append(said, reason)
		}
		if diff := cmp.Diff(said[0], said[1]); diff != "" || !strings.Contains(said[0], "raise the limit, or set backup: None") {
			t.Errorf("%s: a plan says %q, an apply %q", spec, said[0], said[1])
		}
	}
}
