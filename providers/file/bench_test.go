package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
)

// BenchmarkReadInSync reads a thousand files of a kilobyte that are in sync.
func BenchmarkReadInSync(b *testing.B) {
	h := hosttest.New(b)
	h.Put("/etc/passwd", "root:x:0:0::/root:/bin/sh\n")
	h.Put("/etc/group", "root:x:0:\n")
	content := strings.Repeat("0123456789abcde\n", 64)
	var files []resource.Resource
	for i := range 1000 {
		path := fmt.Sprintf("/srv/%d", i)
		h.Put(path, content)
		files = append(files, look(b, h, fmt.Sprintf("{path: %s, content: %q, owner: root, group: root, mode: '0644'}", path, content)))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, f := range files {
			if err := f.Read(b.Context(), resourcetest.Reader(h)); err != nil {
				b.Fatal(err)
			}
			if changes := f.Compare().Changes; len(changes) > 0 {
				b.Fatalf("to change: %+v", changes)
			}
		}
	}
}

// BenchmarkReadLarge shows that a large file takes constant memory.
func BenchmarkReadLarge(b *testing.B) {
	h := hosttest.New(b)
	h.Put("/x", "")
	if err := os.Truncate(filepath.Join(h.Dir(), "x"), 64<<20); err != nil {
		b.Fatal(err)
	}
	r, err := bind(b, `{path: /x, content: ""}`)
	if err != nil {
		b.Fatal(err)
	}
	if err := r.Choose(nil, h, ""); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(64 << 20)
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Read(b.Context(), resourcetest.Reader(h)); err != nil {
			b.Fatal(err)
		}
	}
}
