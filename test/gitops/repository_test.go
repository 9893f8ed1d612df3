//go:build gitops

package gitops_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A repository is a git repository, and a server of its commits as archives.
type repository struct {
	t        *testing.T
	dir      string
	archives string
	server   *httptest.Server
}

// An artifact is an archive of a commit.
type artifact struct{ revision, url, digest string }

// newRepository commits the examples of the documentation.
func newRepository(t *testing.T) *repository {
	t.Helper()
	archives := t.TempDir()
	r := &repository{t: t, dir: t.TempDir(), archives: archives, server: httptest.NewServer(http.FileServer(http.Dir(archives)))}
	t.Cleanup(r.server.Close)
	r.git("init", "--quiet", "--initial-branch=main")
	for name, content := range examples(t) {
		r.write(name, content)
	}
	return r
}

// examples returns the YAML blocks of docs/gitops.md by the file name in their first line.
func examples(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/gitops.md")
	must(t, err)
	files := map[string]string{}
	for _, block := range strings.Split(string(text), "```yaml\n# file: ")[1:] {
		name, content, _ := strings.Cut(block, "\n")
		content, _, closed := strings.Cut(content, "```\n")
		if !closed {
			t.Fatalf("the block %s does not end", name)
		}
		files[name] = content
	}
	return files
}

func (r *repository) write(name, content string) {
	r.t.Helper()
	file := filepath.Join(r.dir, name)
	must(r.t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(r.t, os.WriteFile(file, []byte(content), 0o600))
}

func (r *repository) remove(name string) {
	r.t.Helper()
	must(r.t, os.Remove(filepath.Join(r.dir, name)))
}

func (r *repository) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	must(r.t, err)
	return string(text)
}

// commit commits all changes and returns the archive of the commit.
func (r *repository) commit() artifact {
	r.t.Helper()
	r.git("add", "--all")
	r.git("-c", "user.name=test", "-c", "user.email=test@test.example", "commit", "--quiet", "--allow-empty", "--message=test")
	commit := strings.TrimSpace(r.git("rev-parse", "HEAD"))
	archive := r.git("archive", "--format=tar.gz", "HEAD^{tree}")
	name := commit + ".tar.gz"
	must(r.t, os.WriteFile(filepath.Join(r.archives, name), []byte(archive), 0o600))
	return artifact{"main@sha1:" + commit, r.server.URL + "/" + name, fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(archive)))}
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = r.dir
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git %q: %v", args, err)
	}
	return string(out)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
