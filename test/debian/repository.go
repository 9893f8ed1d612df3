package debian

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// repository is where the local repository lies in a root.
const repository = "/srv/repository"

// Repository makes these packages, and no others, what the root's only apt source offers. Until UpdateIndex apt goes
// on with the index that it has, as with a real archive, and the packages of an earlier call are gone from it. The root
// may be a machine's too.
func Repository(t testing.TB, root string, debs ...Deb) {
	t.Helper()
	if err := writeRepository(root, debs); err != nil {
		t.Fatalf("cannot make a package repository in %s: %v", root, err)
	}
}

// UpdateIndex makes apt in the root read the index of the repository.
func UpdateIndex(t testing.TB, root string) {
	t.Helper()
	Chroot(t, root, "apt-get", "--quiet", "update")
}

func writeRepository(root string, debs []Deb) error {
	dir := filepath.Join(root, repository)
	released, err := modified(filepath.Join(dir, "Release"))
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	files := archive(debs)
	files["../../etc/apt/sources.list.d/tests.list"] = []byte("deb [trusted=yes] file:" + repository + " ./\n")
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
		if err := os.Chtimes(path, released, released); err != nil {
			return err
		}
	}
	return nil
}

// modified is the time to give to a new version of a file. Apt tells versions apart by whole seconds, and tests
// publish several in one.
func modified(path string) (time.Time, error) {
	now := time.Now().Truncate(time.Second)
	info, err := os.Stat(path)
	if os.IsNotExist(err) {
		return now, nil
	}
	if err != nil {
		return now, err
	}
	if next := info.ModTime().Add(time.Second); next.After(now) {
		return next, nil
	}
	return now, nil
}

// archive is a flat repository: contents by file name. The index exists compressed only, because apt would link to a
// plain one in place of copying it, and no index of a test could ever be stale.
func archive(debs []Deb) map[string][]byte {
	files := map[string][]byte{}
	var index bytes.Buffer
	for i, d := range debs {
		name, content := fmt.Sprintf("%s_%d.deb", d.Name, i), d.build()
		files[name] = content
		fmt.Fprintf(&index, "%sFilename: ./%s\nSize: %d\nSHA256: %x\n\n", d.control(), name, len(content), sha256.Sum256(content))
	}
	packed := compress(index.Bytes())
	files["Packages.gz"] = packed
	files["Release"] = fmt.Appendf(nil, "Date: %s\nSHA256:\n %x %d Packages\n %x %d Packages.gz\n",
		time.Now().UTC().Format(time.RFC1123),
		sha256.Sum256(index.Bytes()), index.Len(), sha256.Sum256(packed), len(packed))
	return files
}

func compress(content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(content) // A bytes.Buffer takes every write.
	_ = w.Close()
	return b.Bytes()
}
