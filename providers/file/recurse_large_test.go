package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers/file"
)

// A large host has n files, a hundred per directory.
func large(t testing.TB, n int) *linux.Host {
	t.Helper()
	root := t.TempDir()
	for i := range n {
		dir := filepath.Join(root, "x", fmt.Sprint(i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h, err := linux.Open(linux.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// A counter counts the calls of a run to its host, and samples its memory.
type counter struct {
	calls int
	most  uint64
}

func (c *counter) count() {
	if c.calls++; c.calls%1000 == 0 {
		c.most = max(c.most, heapInUse())
	}
}

// counted is a host whose calls are counted.
type counted struct {
	host.Host
	counter *counter
}

func (c counted) Lookup(path string, links host.Links) (host.Handle, error) {
	c.counter.count()
	n, err := c.Host.Lookup(path, links)
	if err != nil {
		return nil, err
	}
	return countedHandle{n, c.counter}, nil
}

type countedHandle struct {
	host.Handle
	counter *counter
}

func (c countedHandle) Child(name string) (host.Handle, error) {
	c.counter.count()
	n, err := c.Handle.Child(name)
	if err != nil {
		return nil, err
	}
	return countedHandle{n, c.counter}, nil
}

func (c countedHandle) ReadDir() ([]string, error) {
	c.counter.count()
	return c.Handle.ReadDir()
}

// heapInUse returns the number of bytes of memory in use.
func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func runFile(t testing.TB, h host.Host, spec string) report.Report {
	t.Helper()
	kind := bound.Kind(file.Type(nowhere))
	ref := resource.Ref{Kind: "File", Name: "a"}
	res, err := kind.Bind(ref, []byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	result, err := engine.Transaction{Host: h, Bucket: bucket.New(h, bucket.DefaultDir, bucket.DefaultLimit), Kinds: []resource.Kind{kind}, Now: time.Now}.Run(t.Context(), []resource.Item{{Ref: ref, Resource: res}})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// It does not run in parallel, because the memory of other tests would count. The resources of
// all files would take more than ten times the limit.
func TestRecursionUsesConstantMemory(t *testing.T) {
	const few, many, allowed = 500, 5000, 512 << 10
	calls := map[int]int{}
	for _, n := range []int{few, many} {
		c := new(counter)
		h := counted{large(t, n), c}
		before := heapInUse()
		result := runFile(t, h, `{"path":"/x","recurse":true,"maxFiles":-1,"owner":0,"mode":"0644"}`)
		if want := n + n/100 + 1; result.Counts.InSync != want || result.Status != "unchanged" {
			t.Fatalf("%d files: %+v", n, result.Counts)
		}
		c.most = max(c.most, heapInUse())
		if grown := int64(c.most) - int64(before); grown > allowed {
			t.Errorf("%d files: %d bytes in use, want at most %d", n, grown, allowed)
		}
		if calls[n] = c.calls; c.calls < n {
			t.Errorf("of %d files, %d calls were counted", n, c.calls)
		}
	}
	if calls[many] > calls[few]*many/few {
		t.Errorf("%d files took %d calls, and %d files %d: more than in proportion", few, calls[few], many, calls[many])
	}
}

// BenchmarkRecurseInSync measures a run without changes, in nanoseconds per file.
func BenchmarkRecurseInSync(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := large(b, n)
			b.ReportAllocs()
			for b.Loop() {
				runFile(b, h, `{"path":"/x","recurse":true,"maxFiles":-1,"owner":0,"mode":"0644"}`)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/file")
		})
	}
}
