package cli_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// noteInImage writes a type whose program is to be in an image, and returns its directory.
func noteInImage(t *testing.T, dir, root string) {
	t.Helper()
	if got := author(t, dir, root, "type", "new", "Note", "--language", "sh"); got.code != 0 {
		t.Fatal(got.err)
	}
	file := filepath.Join(dir, "note/type.yaml")
	var note v1alpha1.ExternalType
	if err := yaml.UnmarshalStrict([]byte(read(t, file)), &note); err != nil {
		t.Fatal(err)
	}
	note.Spec.Source = v1alpha1.ExternalSource{Image: "registry.example.com/types/note@sha256:" + strings.Repeat("0", 64)}
	text, err := yaml.Marshal(note)
	if err != nil {
		t.Fatal(err)
	}
	put(t, file, string(text))
	put(t, filepath.Join(dir, "note/.git/config"), "not part of the program")
}

const hello = `
apiVersion: types.fettle.dev/v1alpha1
kind: Note
metadata: {name: hello}
spec:
  nodeSelector: {}
  properties: {content: "hello"}
`

func TestProgramsArePushedBuiltAndApplied(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	root, dir := copyOfRoot(t), t.TempDir()
	serving := true
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !serving {
			http.Error(w, "maintenance", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	to := strings.TrimPrefix(s.URL, "http://") + "/types/note:0.1.0"
	noteInImage(t, dir, root)
	if got := author(t, dir, root, "type", "test", "note"); got.code != 0 || strings.Contains(got.out, "FAIL") {
		t.Errorf("test: exit %d\n%s%s", got.code, got.out, got.err)
	}
	pushed := author(t, dir, root, "type", "push", "note", to)
	again := author(t, dir, root, "type", "push", "note", to)
	if pushed.code != 0 || pushed != again || !strings.HasPrefix(pushed.out, to+"@sha256:") {
		t.Fatalf("push: exit %d, %s%s, and then %s%s", pushed.code, pushed.out, pushed.err, again.out, again.err)
	}
	built := author(t, dir, root, "type", "build", "note", "--image", strings.TrimSpace(pushed.out))
	if built.code != 0 || !strings.Contains(built.out, "image: "+strings.TrimSpace(pushed.out)) {
		t.Fatalf("build: exit %d\n%s%s", built.code, built.out, built.err)
	}
	put(t, filepath.Join(dir, "note.yaml"), built.out)
	put(t, filepath.Join(dir, "hello.yaml"), hello+"---\n"+file("other", "path: /etc/other, content: x"))
	apply := func(want int, says string) {
		t.Helper()
		got := author(t, dir, root, "apply", "--root", root, "-f", "note.yaml", "-f", "hello.yaml", "--detailed-exitcodes")
		if got.code != want || !strings.Contains(got.out+got.err, says) {
			t.Errorf("apply: exit %d, want %d with %q\n%s%s", got.code, want, says, got.out, got.err)
		}
	}
	apply(2, "Note/hello")
	if text := read(t, filepath.Join(root, "var/lib/notes/hello")); !strings.HasPrefix(text, "hello") {
		t.Errorf("the note is %q", text)
	}
	serving = false
	apply(0, "")
	if err := os.RemoveAll(filepath.Join(root, "var/lib/fettle/local-programs")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(root, "etc/other")); err != nil {
		t.Fatal(err)
	}
	apply(6, "cannot pull "+strings.TrimSpace(pushed.out)+": the registry responded with 403 Forbidden")
	if text := read(t, filepath.Join(root, "etc/other")); text != "x" {
		t.Errorf("the other file is %q", text)
	}
}

// The files of the directory are those of all platforms, such as those of a program for tests on this machine.
func TestEachPlatformHasItsOwnProgram(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	root, dir := copyOfRoot(t), t.TempDir()
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	noteInImage(t, dir, root)
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	program := read(t, filepath.Join(dir, "note/main.sh"))
	for name, text := range map[string]string{"note": "#!/bin/sh\nexit 1\n", other: "#!/bin/sh\nexit 1\n", runtime.GOARCH: program} {
		put(t, filepath.Join(dir, name, "main.sh"), text)
		if err := os.Chmod(filepath.Join(dir, name, "main.sh"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	pushed := author(t, dir, root, "type", "push", "note", strings.TrimPrefix(s.URL, "http://")+"/note:1", "--platform", "linux/"+other+"="+other, "--platform", "linux/"+runtime.GOARCH+"="+runtime.GOARCH)
	if pushed.code != 0 {
		t.Fatalf("push: exit %d\n%s", pushed.code, pushed.err)
	}
	put(t, filepath.Join(dir, "note.yaml"), author(t, dir, root, "type", "build", "note", "--image", strings.TrimSpace(pushed.out)).out)
	put(t, filepath.Join(dir, "hello.yaml"), hello)
	if got := author(t, dir, root, "apply", "--root", root, "-f", "note.yaml", "-f", "hello.yaml"); got.code != 0 {
		t.Errorf("apply: exit %d\n%s%s", got.code, got.out, got.err)
	}
}

func TestWhatCannotBePushedIsRefused(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	root, dir := copyOfRoot(t), t.TempDir()
	noteInImage(t, dir, root)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"note", "registry.example.com/types/note@sha256:" + strings.Repeat("0", 64)}, "is not a reference with a tag"},
		{[]string{"note", "types/note:1"}, "is not a reference with a tag"},
		{[]string{"note", "127.0.0.1:1/note:1", "--platform", "linux=bin"}, `--platform "linux=bin" is not an operating system`},
		{[]string{"note", "127.0.0.1:1/note:1", "--platform", "linux/amd64=missing"}, "missing"},
		{[]string{"note", "127.0.0.1:1/note:1"}, "cannot push 127.0.0.1:1/note:1"},
	} {
		if got := author(t, dir, root, append([]string{"type", "push"}, c.args...)...); got.code != 1 || !strings.Contains(got.err, c.want) {
			t.Errorf("%q: exit %d\n%s", c.args, got.code, got.err)
		}
	}
	if err := os.Symlink("main.sh", filepath.Join(dir, "note/link")); err != nil {
		t.Fatal(err)
	}
	if got := author(t, dir, root, "type", "push", "note", "127.0.0.1:1/note:1"); !strings.Contains(got.err, "link is not a regular file") {
		t.Errorf("a symlink: %s", got.err)
	}
	if got := author(t, dir, root, "type", "build", "note", "--image", "registry.example.com/types/note:1"); got.code != 1 || !strings.Contains(got.err, "digest") {
		t.Errorf("a tag: exit %d\n%s", got.code, got.err)
	}
}
