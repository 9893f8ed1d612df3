package bucket_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
)

// The SHA-256 of "one\n" and "two\n".
const (
	sumOne = "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806"
	sumTwo = "27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a"
)

const keptOne = bucket.DefaultDir + "/2c/" + sumOne

// of returns the default bucket of a host.
func of(h host.Host) *bucket.Bucket { return bucket.New(h, bucket.DefaultDir, bucket.DefaultLimit) }

func save(t *testing.T, h host.Host, path, want string) {
	t.Helper()
	if sum, err := keep(t, of(h), h, path); err != nil || sum != want {
		t.Fatalf("saved %s as %q, %v; want %q", path, sum, err, want)
	}
}

func content(t *testing.T, h host.Host, sum string) (string, error) {
	t.Helper()
	f, err := of(h).Open(sum)
	if err != nil {
		return "", err
	}
	defer f.Close()
	all, err := io.ReadAll(f)
	return string(all), err
}

func TestContentIsSavedOnceAndReadableOnlyByRoot(t *testing.T) {
	t.Parallel()

	h := hosttest.New(t)
	h.Put("/etc/a", "one\n")
	h.Put("/etc/b\n", "one\n")
	save(t, h, "/etc/a", sumOne)
	save(t, h, "/etc/b\n", sumOne)
	save(t, h, "/etc/a", sumOne)

	all, err := of(h).List()
	if err != nil || len(all) != 1 || time.Since(all[0].Saved) > time.Hour {
		t.Fatalf("kept %+v, %v", all, err)
	}
	all[0].Saved = time.Time{}
	if diff := cmp.Diff([]bucket.Entry{{Sum: sumOne, Size: 4, Paths: []string{"/etc/b\n", "/etc/a"}}}, all); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	for path, want := range map[string]uint32{
		"/var/lib": 0o755, "/var/lib/fettle": 0o700, bucket.DefaultDir: 0o700, keptOne: 0o700, keptOne + "/contents": 0o600, keptOne + "/paths": 0o600,
	} {
		if info, err := h.Lstat(path); err != nil || info.Mode != want {
			t.Errorf("%s has mode %o, %v; want %o", path, info.Mode, err, want)
		}
	}
	if got, err := content(t, h, sumOne); err != nil || got != "one\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestDamagedCopyIsReportedAndReplaced(t *testing.T) {
	t.Parallel()

	h := hosttest.New(t)
	h.Put("/etc/a", "one\n")
	save(t, h, "/etc/a", sumOne)
	h.Put(keptOne+"/contents", "torn")
	if _, err := content(t, h, sumOne); err == nil || err.Error() != "the copy of "+sumOne+" in the bucket is damaged" {
		t.Errorf("a damaged copy reads with %v", err)
	}
	save(t, h, "/etc/a", sumOne)
	if got, err := content(t, h, sumOne); err != nil || got != "one\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestIntactCopyIsNotRewritten(t *testing.T) {
	t.Parallel()

	h := hosttest.New(t)
	h.Put("/etc/a", "one\n")
	save(t, h, "/etc/a", sumOne)
	h.Reset()
	save(t, h, "/etc/a", sumOne)
	if diff := cmp.Diff([]string{"! write " + keptOne + "/paths 0600 root root"}, h.Transcript()); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
}

// A changing file has another content each time it is opened.
type changing struct {
	host.Handle
	contents []string
}

// Info has no size.
func (c *changing) Info() host.FileInfo { return host.FileInfo{} }

func (c *changing) Open() (io.ReadCloser, error) {
	now := c.contents[0]
	c.contents = c.contents[1:]
	return io.NopCloser(strings.NewReader(now)), nil
}

func TestFileChangedDuringSaveIsAnError(t *testing.T) {
	t.Parallel()

	h := hosttest.New(t)
	_, err := of(h).Save(t.Context(), &changing{nil, []string{"one\n", "two\n"}}, "/etc/a")
	if err == nil || !strings.Contains(err.Error(), "/etc/a changes while it is read: try again when nothing writes to it") {
		t.Errorf("got %v", err)
	}
	if all, err := of(h).List(); err != nil || len(all) != 0 {
		t.Errorf("kept %+v, %v", all, err)
	}
}

func TestSaveFailsIfTheBucketCannotBeCreated(t *testing.T) {
	t.Parallel()

	h := hosttest.New(t)
	h.Put("/etc/a", "one\n")
	h.Put("/var/lib/fettle", "in the way")
	if _, err := keep(t, of(h), h, "/etc/a"); err == nil {
		t.Error("saved into a file")
	}
}

func TestFind(t *testing.T) {
	t.Parallel()

	h := hosttest.New(t)
	if all, err := of(h).List(); err != nil || all != nil {
		t.Errorf("a host without a bucket has %v, %v", all, err)
	}
	h.Put("/a", "one\n")
	h.Put("/b", "two\n")
	save(t, h, "/a", sumOne)
	save(t, h, "/b", sumTwo)
	twin := sumTwo[:63] + "b"
	h.Put(bucket.DefaultDir+"/27/"+twin+"/contents", "")
	h.Put(bucket.DefaultDir+"/27/"+twin+"/paths", "")
	h.Put(bucket.DefaultDir+"/27/notes", "not ours")
	must(t, os.Chtimes(filepath.Join(h.Dir(), keptOne, "paths"), time.Now(), time.Unix(1, 0)))

	all, err := of(h).List()
	var sums []string
	for _, e := range all {
		sums = append(sums, e.Sum)
	}
	if err != nil || !slices.Equal(sums, []string{sumOne, sumTwo, twin}) {
		t.Errorf("listed %v, %v", sums, err)
	}
	for prefix, want := range map[string]string{
		"2c8b": "", sumTwo: "",
		"2c8":  `sum "2c8" is too short: give at least 4 digits`,
		"ffff": `the bucket has no content whose sum begins with "ffff": see fettle bucket list`,
		"27dd": `the bucket has 2 contents whose sums begin with "27dd": give more digits`,
	} {
		e, err := of(h).Find(prefix)
		if want == "" && (err != nil || !strings.HasPrefix(e.Sum, prefix)) || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: found %+v, %v", prefix, e, err)
		}
	}
	if _, err := of(h).Open(strings.Repeat("0", 64)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// keep saves the file at a path in the bucket.
func keep(t *testing.T, b *bucket.Bucket, h host.Reader, path string) (sum string, err error) {
	t.Helper()
	file, err := h.Lookup(path, host.Links{})
	if err != nil {
		return "", err
	}
	defer file.Close()
	return b.Save(t.Context(), file, path)
}
