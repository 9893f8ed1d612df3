package debian

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Debs returns the .deb files of packages of the archive, with those that they need and the base lacks, for dpkg in a
// root: what would change the base for all tests, as another init, can't be in it. They are fetched once on this
// machine, as the base is; nobody may write to them.
func Debs(t testing.TB, names ...string) []string {
	t.Helper()
	Require(t, "debootstrap")
	dir, err := fetched(t.Context(), names, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(debs) < len(names) {
		t.Fatalf("there are %d .deb files for %d packages in %s: %v", len(debs), len(names), dir, err)
	}
	return debs
}

func fetched(ctx context.Context, names []string, progress io.Writer) (string, error) {
	base, err := Base(ctx, progress)
	if err != nil {
		return "", err
	}
	dir, err := cacheDir("debs")
	if err != nil {
		return "", err
	}
	list := strings.Join(slices.Sorted(slices.Values(names)), ",")
	final := filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256([]byte(filepath.Base(base)+"\n"+list)))[:16])
	lock, err := acquire(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if exists(final) {
		return final, nil
	}
	return final, fetch(ctx, list, base, final, progress)
}

// fetch has debootstrap find and check what belongs to the packages, and keeps what the base lacks.
func fetch(ctx context.Context, list, base, final string, progress io.Writer) (err error) {
	building := final + ".building"
	defer func() { err = errors.Join(err, discard(building)) }()
	if err := errors.Join(discard(building), os.Mkdir(building, 0o755)); err != nil {
		return err
	}
	tree := filepath.Join(building, "tree")
	fmt.Fprintf(progress, "fetching %s of Debian %s: once\n", list, suite)
	if err := debootstrap(ctx, tree, progress, "--download-only", "--include="+list); err != nil {
		return err
	}
	all, err := filepath.Glob(filepath.Join(tree, "var/cache/apt/archives/*.deb"))
	if err != nil {
		return err
	}
	kept := filepath.Join(building, "kept")
	if err := os.Mkdir(kept, 0o755); err != nil {
		return err
	}
	for _, deb := range all {
		if installed(base, deb) {
			continue
		}
		if err := os.Rename(deb, filepath.Join(kept, filepath.Base(deb))); err != nil {
			return err
		}
	}
	return os.Rename(kept, final)
}

// installed reports whether the base has the package of a file such as openrc_0.45.2-2_amd64.deb.
func installed(base, deb string) bool {
	name, _, _ := strings.Cut(filepath.Base(deb), "_")
	found, err := filepath.Glob(filepath.Join(base, "var/lib/dpkg/info", name+"*.list"))
	return err == nil && slices.ContainsFunc(found, func(file string) bool {
		file = filepath.Base(file)
		return file == name+".list" || strings.HasPrefix(file, name+":")
	})
}
