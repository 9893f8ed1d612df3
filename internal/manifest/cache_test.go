package manifest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/state"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: x}\nbinaryData: {b: eQ==}\n"

const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: token, labels: {fettle.dev/expose-to-nodes: \"true\"}}\nstringData: {text: correct horse}\n"

const cachedList = `apiVersion: v1
kind: List
items:
- apiVersion: fettle.dev/v1alpha1
  kind: Group
  metadata: {name: none, labels: {a: b}}
  spec: {nodeSelector: {}, members: [], gid: 0}
- apiVersion: fettle.dev/v1alpha1
  kind: User
  metadata: {name: ann, creationTimestamp: "2026-01-02T03:04:05Z"}
  spec: {nodeSelector: {matchExpressions: [{key: a, operator: Exists}]}, gid: staff, uid: 1000, allowDupe: false, password: "$6$salt$cipher"}
`

// cachedRead reads text with the cache in a directory and saves the cache.
func cachedRead(t *testing.T, dir, text string) *manifest.Set {
	t.Helper()
	cache := manifest.OpenCache(state.NewCache(filepath.Dir(dir), filepath.Base(dir)), []string{"-"})
	s := manifest.Read(t.Context(), stdin(text), cache)
	if err := cache.Save(); err != nil {
		t.Fatal(err)
	}
	return s
}

// files returns the caches in a directory by name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

// only returns the only cache in a directory.
func only(t *testing.T, dir string) (path, text string) {
	t.Helper()
	all := files(t, dir)
	if len(all) != 1 {
		t.Fatalf("there are %d caches", len(all))
	}
	for name, text := range all {
		return filepath.Join(dir, name), text
	}
	return "", ""
}

func same(t *testing.T, want, got *manifest.Set) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(manifest.Document{}, manifest.Policy{}), cmpopts.IgnoreFields(manifest.Set{}, "Types")); diff != "" {
		t.Errorf("(-without the cache +with it):\n%s", diff)
	}
}

func everySample(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for _, pattern := range []string{"../../config/samples/*.yaml", "../../config/samples/attributes/*.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			sample, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "---\n%s\n", sample)
		}
	}
	return text.String()
}

func TestCachedManifestsEqualReadManifests(t *testing.T) {
	text := everySample(t) + "---\n" + cachedList + "---\n" + configMap
	dir := filepath.Join(t.TempDir(), "state", "cache")
	want := in(t, text)
	if len(want.Documents) < 20 {
		t.Fatal(want.Faults)
	}
	same(t, want, cachedRead(t, dir, text))
	path, before := only(t, dir)
	if err := os.Chmod(path, 0o400); err != nil { // a write would create another file
		t.Fatal(err)
	}
	same(t, want, cachedRead(t, dir, text))
	_, after := only(t, dir)
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o400 || before != after {
		t.Errorf("a second read saved its cache again: %v, %v", info.Mode(), err)
	}
}

func TestDamagedCacheIsIgnored(t *testing.T) {
	text := motd + "---\n" + cachedList + "---\n" + configMap
	dir := filepath.Join(t.TempDir(), "cache")
	want := cachedRead(t, dir, text)
	path, good := only(t, dir)
	for at := 0; at < len(good); at += 5 {
		bad := []byte(good)
		bad[at] ^= 0x55
		for _, damaged := range [][]byte{bad, bad[:at]} {
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			same(t, want, cachedRead(t, dir, text))
			if _, repaired := only(t, dir); repaired != good {
				t.Fatalf("damage at %d of %d was not repaired", at, len(good))
			}
		}
	}
}

func TestCacheIsUnreadableWithoutManifests(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	cachedRead(t, dir, motd+"---\n"+cachedList+"---\n"+configMap+"---\n"+secret)
	path, text := only(t, dir)
	for _, word := range []string{"hello", "/etc/motd", "cipher", "ann", "correct horse"} {
		if strings.Contains(text, word) {
			t.Errorf("the cache contains %q in plain text", word)
		}
	}
	for name, mode := range map[string]os.FileMode{path: 0o600, dir: 0o700 | os.ModeDir} {
		if info, err := os.Stat(name); err != nil || info.Mode() != mode {
			t.Errorf("%s has the mode %v, %v", name, info.Mode(), err)
		}
	}
}

func TestSecretsAndFaultsAreNotCached(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	cachedRead(t, dir, secret+"---\n"+strings.Replace(motd, "content", "contents", 1))
	if all := files(t, dir); len(all) > 0 {
		t.Errorf("there are %d caches", len(all))
	}
}

func TestCacheStoresOneVersion(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	cachedRead(t, dir, motd+"---\n"+group)
	_, both := only(t, dir)
	cachedRead(t, dir, motd)
	_, one := only(t, dir)
	if len(one) >= len(both) || !strings.HasPrefix(both, one) {
		t.Errorf("the cache keeps documents that are no longer read: %d bytes of %d", len(one), len(both))
	}
	cache := manifest.OpenCache(state.NewCache(filepath.Dir(dir), filepath.Base(dir)), []string{"-"})
	cache.SetVersion([]byte("another program"))
	s := manifest.Read(t.Context(), stdin(motd), cache)
	if err := cache.Save(); err != nil {
		t.Fatal(err)
	}
	same(t, in(t, motd), s)
	if _, other := only(t, dir); bytes.Equal([]byte(other), []byte(one)) {
		t.Error("the cache of one version was read by another")
	}
}
