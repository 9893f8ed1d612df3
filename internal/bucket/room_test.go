package bucket_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
)

// The space of a content of 10,000 bytes, including its overhead.
const each = 10_000 + 4096

// found returns the paths of all contents, the oldest first.
func found(t *testing.T, b *bucket.Bucket) (all []string) {
	t.Helper()
	entries, err := b.List()
	must(t, err)
	for _, e := range entries {
		all = append(all, e.Paths...)
	}
	return all
}

// fill saves files of 10,000 bytes at different times.
func fill(t *testing.T, h *hosttest.Host, b *bucket.Bucket, files ...string) {
	t.Helper()
	for _, name := range files {
		h.Put("/f/"+name, strings.Repeat(name, 10_000))
		sum, err := keep(t, b, h, "/f/"+name)
		must(t, err)
		at := time.Unix(int64(name[0]), 0)
		must(t, os.Chtimes(filepath.Join(h.Dir(), "var/lib/fettle/bucket", sum[:2], sum, "paths"), at, at))
	}
}

func TestOldestContentsAreEvictedAtTheLimit(t *testing.T) {
	t.Parallel()

	h := hosttest.New(t)
	b := bucket.New(h, bucket.DefaultDir, 3*each)
	fill(t, h, b, "c", "a", "b")
	if diff := cmp.Diff([]string{"/f/a", "/f/b", "/f/c"}, found(t, b)); diff != "" {
		t.Errorf("with room for all (-want +got):\n%s", diff)
	}
	fill(t, h, b, "d", "e")
	if diff := cmp.Diff([]string{"/f/c", "/f/d", "/f/e"}, found(t, b)); diff != "" {
		t.Errorf("with room for three (-want +got):\n%s", diff)
	}
	fill(t, h, b, "c") // is there, and takes no more
	if diff := cmp.Diff([]string{"/f/c", "/f/d", "/f/e"}, found(t, b)); diff != "" {
		t.Errorf("with what is there (-want +got):\n%s", diff)
	}
	fill(t, h, bucket.New(h, bucket.DefaultDir, 2*each), "f") // what others left counts
	if diff := cmp.Diff([]string{"/f/e", "/f/f"}, found(t, b)); diff != "" {
		t.Errorf("with less room (-want +got):\n%s", diff)
	}
	fill(t, h, bucket.New(h, bucket.DefaultDir, 0), "g", "h", "i")
	if diff := cmp.Diff([]string{"/f/e", "/f/f", "/f/g", "/f/h", "/f/i"}, found(t, b)); diff != "" {
		t.Errorf("without a limit (-want +got):\n%s", diff)
	}
}

func TestIncompleteContentsAreEvictedFirst(t *testing.T) {
	t.Parallel()

	h := hosttest.New(t)
	torn := bucket.DefaultDir + "/00/00" + strings.Repeat("1", 62)
	h.Put(torn+"/contents", strings.Repeat("x", 10_000))
	h.Put(bucket.DefaultDir+"/00/notes", "not ours")
	b := bucket.New(h, bucket.DefaultDir, 2*each)
	fill(t, h, b, "a", "b")
	if diff := cmp.Diff([]string{"/f/a", "/f/b"}, found(t, b)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if names, err := h.ReadDir(bucket.DefaultDir + "/00"); err != nil || !cmp.Equal(names, []string{"notes"}) {
		t.Errorf("left are %v, %v", names, err)
	}
}

func TestOversizedFileIsAnErrorAndEvictsNothing(t *testing.T) {
	t.Parallel()

	h := hosttest.New(t)
	b := bucket.New(h, bucket.DefaultDir, 2*each)
	fill(t, h, b, "a")
	h.Put("/large", strings.Repeat("x", 2*each))
	const want = "/large needs 32288 bytes in the bucket, but its limit is 28192: raise the limit, or set backup: None"
	if _, err := keep(t, b, h, "/large"); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if got := found(t, b); !cmp.Equal(got, []string{"/f/a"}) {
		t.Errorf("kept %v", got)
	}
}

func TestLatestPathsOfAContentAreKept(t *testing.T) {
	t.Parallel()

	h := hosttest.New(t)
	b := of(h)
	for i := range 103 {
		file := fmt.Sprintf("/f/%d", i)
		h.Put(file, "")
		_, err := keep(t, b, h, file)
		must(t, err)
	}
	if got := found(t, b); len(got) != 100 || got[0] != "/f/3" || got[99] != "/f/102" {
		t.Errorf("%d paths, %v", len(got), got)
	}
}
