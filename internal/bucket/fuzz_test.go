package bucket_test

import (
	"slices"
	"testing"

	"github.com/fettle-dev/fettle/internal/host/hosttest"
)

// Whatever is in the list of paths of a content, the content is listed, the next save
// keeps what could be read of it, each path once, and the list then reads as written.
func FuzzPaths(f *testing.F) {
	f.Add("\"/etc/a\"\n\"/etc/b\\n\"\n")
	f.Add("\"/etc/a\n/etc/b\n`/x`\n''\n\"\\xff\"\n\"\\x00\"")
	f.Add("\"/a\"\r\n\"/a\"\n")
	f.Fuzz(func(t *testing.T, paths string) {
		h := hosttest.New(t)
		h.Put("/a", "one\n")
		h.PutDir(keptOne)
		h.Put(keptOne+"/contents", "one\n")
		h.Put(keptOne+"/paths", paths)
		before := listed(t, h)
		save(t, h, "/a", sumOne)
		want := append(slices.DeleteFunc(before, func(p string) bool { return p == "/a" }), "/a")
		want = want[max(0, len(want)-100):]
		if got := listed(t, h); !slices.Equal(got, want) {
			t.Errorf("saved as %q, want %q", got, want)
		}
	})
}

func listed(t *testing.T, h *hosttest.Host) []string {
	t.Helper()
	all, err := of(h).List()
	if err != nil || len(all) != 1 {
		t.Fatalf("listed %+v, %v", all, err)
	}
	return all[0].Paths
}
