package image_test

import (
	"context"
	"crypto/sha256"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/fettle-dev/fettle/internal/external/image"
	"github.com/fettle-dev/fettle/internal/external/image/archive"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// serve serves a registry, and returns its address.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	if h == nil {
		h = registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// client returns a client without configuration.
func client() *image.Client {
	return &image.Client{Silence: patient.Limit, Limit: patient.Limit}
}

// files has the texts of files.
func files(all map[string]string) []archive.Source {
	var list []archive.Source
	for name, text := range all {
		list = append(list, archive.Source{Name: name, Executable: true, Content: []byte(text)})
	}
	return list
}

// push pushes files, and returns a reference with a digest.
func push(t *testing.T, to string, all map[string]string) string {
	t.Helper()
	ref, err := image.Push(t.Context(), to, map[image.Platform][]archive.Source{{}: files(all)})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// A sink has what was unpacked.
type sink map[string]string

func (s sink) Mkdir(name string) error { s[name+"/"] = ""; return nil }

func (s sink) WriteFile(_ context.Context, name string, _ bool, content io.Reader) ([sha256.Size]byte, error) {
	text, err := io.ReadAll(content)
	s[name] = string(text)
	return sha256.Sum256(text), err
}

func (s sink) Symlink(target, name string) error { s[name] = "-> " + target; return nil }

func (s sink) Remove(name string) error {
	for other := range s {
		if strings.TrimSuffix(other, "/") == name || strings.HasPrefix(other, name+"/") {
			delete(s, other)
		}
	}
	return nil
}

func TestPushIsReproducibleAndCanBePulled(t *testing.T) {
	at := serve(t, nil)
	all := map[string]string{"main.py": "#!/usr/bin/python3\n", "lib/a.py": "a"}
	ref := push(t, at+"/types/note:1", all)
	if other := push(t, at+"/types/note:1", all); other != ref || !strings.HasPrefix(ref, at+"/types/note:1@sha256:") {
		t.Errorf("the references are %s and %s", ref, other)
	}
	got := sink{}
	content, err := client().Pull(t.Context(), ref, got)
	if err != nil || len(content.Entries) != 3 || got["main.py"] != all["main.py"] || got["lib/a.py"] != "a" || len(got) != 3 {
		t.Errorf("pulled %v, %+v, %v", got, content, err)
	}
}
