package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func archives(t *testing.T, names ...string) (files []string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// The fields and their forms are those that krew's documentation of its manifests requires.
func TestManifestHasTheFormThatKrewRequires(t *testing.T) {
	t.Parallel()

	var out strings.Builder
	if err := run(&out, "v1.2.3", "https://example.com/releases", archives(t, "fettle-v1.2.3-linux-amd64.tar.gz", "fettle-v1.2.3-linux-arm64.tar.gz")); err != nil {
		t.Fatal(err)
	}
	platform := func(arch string) string {
		return `  - bin: fettle
    files:
    - from: fettle
      to: .
    selector:
      matchLabels:
        arch: ` + arch + `
        os: linux
    sha256: ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73
    uri: https://example.com/releases/v1.2.3/fettle-v1.2.3-linux-` + arch + `.tar.gz
`
	}
	want := `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: fettle
spec:
  description: |
    Shows the nodes that Fettle manages: their state, what drifted, how they differ from their
    catalogs, why a resource applies or not, and what a change would do.
  homepage: https://github.com/fettle-dev/fettle
  platforms:
` + platform("amd64") + platform("arm64") + `  shortDescription: Show the state and drift of nodes managed by Fettle
  version: v1.2.3
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestVersionIsSemantic(t *testing.T) {
	t.Parallel()

	for version, want := range map[string]string{
		"v1.2.3-4-gab12cd3-dirty": "v1.2.3-4-gab12cd3-dirty", "ab12cd3": "v0.0.0-gab12cd3", "devel+x/y": "v0.0.0-gdevel-x-y",
	} {
		var out strings.Builder
		if err := run(&out, version, "https://example.com", archives(t, "fettle-x-linux-amd64.tar.gz")); err != nil || !strings.HasSuffix(out.String(), "\n  version: "+want+"\n") {
			t.Errorf("%s: %v\n%s", version, err, out.String())
		}
	}
}

func TestWrongArgumentsAreRejected(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		version  string
		archives []string
		want     string
	}{
		"no version":       {"", []string{"a"}, "give -version and the archives"},
		"no archives":      {"v1.0.0", nil, "give -version and the archives"},
		"another platform": {"v1.0.0", []string{"fettle-v1.0.0-linux.tar.gz"}, "fettle-v1.0.0-linux.tar.gz is not an archive for a platform: its name ends with -OS-ARCH.tar.gz"},
		"a missing file":   {"v1.0.0", []string{"missing-linux-amd64.tar.gz"}, "open missing-linux-amd64.tar.gz: no such file or directory"},
	} {
		if err := run(&strings.Builder{}, c.version, "", c.archives); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
