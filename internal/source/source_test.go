package source_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/source"
)

// tree writes files to a temporary directory and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// read returns the named texts of a request in order, and the first error.
func read(t *testing.T, l source.Loader, r source.Request) (texts []string, err error) {
	t.Helper()
	all, err := l.Expand(r)
	for _, s := range all {
		text, readErr := s.Read(t.Context())
		texts = append(texts, s.Name+": "+string(text))
		err = errors.Join(err, readErr)
	}
	return texts, err
}

func TestExpandListsRequestedTexts(t *testing.T) {
	dir := tree(t, map[string]string{
		"b.yaml": "b", "a.yml": "a", "c.json": "c", "README.md": "no manifest",
		"sub/d.yaml": "d", "sub/deep/e.yaml": "e", "sub.yaml/f.yaml": "f",
	})
	if err := os.Symlink(filepath.Join(dir, "sub"), filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	l := source.Loader{Stdin: strings.NewReader("typed"), Kustomize: func(_ context.Context, dir string) ([]byte, error) { return []byte("built of " + dir), nil }}
	for name, c := range map[string]struct {
		r    source.Request
		want []string
	}{
		"a file":          {source.Request{Files: []string{dir + "/b.yaml"}}, []string{dir + "/b.yaml: b"}},
		"a directory":     {source.Request{Files: []string{dir}}, []string{dir + "/a.yml: a", dir + "/b.yaml: b", dir + "/c.json: c"}},
		"subdirectories":  {source.Request{Files: []string{dir}, Recursive: true}, []string{dir + "/a.yml: a", dir + "/b.yaml: b", dir + "/c.json: c", dir + "/sub/d.yaml: d", dir + "/sub/deep/e.yaml: e", dir + "/sub.yaml/f.yaml: f"}},
		"stdin, file":     {source.Request{Files: []string{"-", dir + "/b.yaml"}}, []string{"stdin: typed", dir + "/b.yaml: b"}},
		"a kustomization": {source.Request{Kustomize: "overlay"}, []string{"overlay: built of overlay"}},
	} {
		got, err := read(t, l, c.r)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

func TestExpandRejectsUnreadableSources(t *testing.T) {
	dir := tree(t, map[string]string{"sub/a.yaml": "a", "web/a.yaml": "a", "web/kustomization.yaml": "resources: [a.yaml]", "old/kustomization.yml": ""})
	l := source.Loader{Kustomize: func(context.Context, string) ([]byte, error) { return nil, errors.New("no kustomization.yaml") }}
	for want, r := range map[string]source.Request{
		"cannot read " + dir + "/none.yaml: no such file or directory":                                                             {Files: []string{dir + "/none.yaml"}},
		"directory " + dir + " has no .yaml, .yml or .json file; -R also looks in its subdirectories":                              {Files: []string{dir}},
		"-k cannot be combined with -f or -R: build one kustomization of all, or run twice":                                        {Kustomize: dir, Recursive: true},
		"cannot build the kustomization " + dir + ": no kustomization.yaml":                                                        {Kustomize: dir},
		dir + "/web/kustomization.yaml is a kustomization, which -f does not build: use -k " + dir + "/web":                        {Files: []string{dir + "/web"}},
		dir + "/old/kustomization.yml is a kustomization, which -f does not build: use -k " + dir + "/old":                         {Files: []string{dir + "/old"}},
		"cannot read http://web.example/a.yaml: http://web.example is not encrypted, and manifests are applied as root: use https": {Files: []string{"http://web.example/a.yaml"}},
	} {
		if _, err := read(t, l, r); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestExpandReturnsValidTextsWithErrors(t *testing.T) {
	dir := tree(t, map[string]string{"a.yaml": "a"})
	got, err := read(t, source.Loader{}, source.Request{Files: []string{dir + "/none.yaml", dir}})
	if diff := cmp.Diff([]string{dir + "/a.yaml: a"}, got); diff != "" || err == nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestURLReadIsBounded(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/a.yaml", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a")) })
	mux.HandleFunc("/gone", http.NotFound)
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/a.yaml", http.StatusFound) })
	mux.HandleFunc("/out", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://elsewhere.example/a.yaml", http.StatusFound)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		for range 33 {
			_, _ = w.Write(make([]byte, 1<<20))
		}
	})
	plain, tls := httptest.NewServer(mux), httptest.NewTLSServer(mux)
	t.Cleanup(plain.Close)
	t.Cleanup(tls.Close)
	l := source.Loader{HTTP: tls.Client()}
	for _, server := range []*httptest.Server{plain, tls} {
		for path, want := range map[string]string{
			"/a.yaml": "", "/moved": "",
			"/gone":  "the server responded with 404 Not Found",
			"/out":   "http://elsewhere.example is not encrypted, and manifests are applied as root: use https",
			"/loop":  "more than 10 redirects",
			"/large": "it is larger than 32 MiB: download it and use -f FILE",
		} {
			address := server.URL + path
			got, err := read(t, l, source.Request{Files: []string{address}})
			if want == "" && (err != nil || got[0] != address+": a") {
				t.Errorf("%s: %q, %v", address, got, err)
			}
			if want != "" && (err == nil || err.Error() != "cannot read "+address+": "+want) {
				t.Errorf("%s: %v, want %s", address, err, want)
			}
		}
	}
}

func TestURLPasswordIsHidden(t *testing.T) {
	got, err := read(t, source.Loader{}, source.Request{Files: []string{"http://ann:s3cr3t@web.example/a.yaml"}})
	if err == nil || strings.Contains(err.Error()+got[0], "s3cr3t") || !strings.Contains(err.Error(), "ann:xxxxx@web.example") {
		t.Error(err)
	}
}
