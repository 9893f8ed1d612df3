package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
)

func withFiles(digest string, files map[string]string) *definition.Definition {
	return &definition.Definition{Digest: digest, Spec: v1alpha1.ExternalTypeSpec{Kind: "Zone", Source: v1alpha1.ExternalSource{Files: files}}}
}

func TestFilesAreComparedAtEachUse(t *testing.T) {
	t.Parallel()

	h := hosttest.New(t)
	s := store.New(h, "/var/lib/fettle/programs")
	d := withFiles("sha256-a", map[string]string{"main.sh": "#!/bin/sh\n", "lib/a.sh": "a"})
	dir, err := s.Dir(t.Context(), h, d)
	if err != nil || dir != "/var/lib/fettle/programs/sha256-a" {
		t.Fatal(dir, err)
	}
	for what, damage := range map[string]func(dir string) error{
		"nothing":           func(string) error { return nil },
		"a changed file":    func(dir string) error { return os.WriteFile(dir+"/main.sh", []byte("evil"), 0o755) },
		"a missing file":    func(dir string) error { return os.Remove(dir + "/lib/a.sh") },
		"a further file":    func(dir string) error { return os.WriteFile(dir+"/lib/b.sh", []byte("evil"), 0o755) },
		"a further symlink": func(dir string) error { return os.Symlink("/etc", dir+"/lib/etc") },
		"no directory":      os.RemoveAll,
	} {
		if err := damage(filepath.Join(h.Dir(), dir)); err != nil {
			t.Fatal(err)
		}
		h.Reset()
		if _, err := s.Dir(t.Context(), h, d); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		names, err := filepath.Glob(filepath.Join(h.Dir(), dir, "*/*"))
		text, readErr := os.ReadFile(filepath.Join(h.Dir(), dir, "main.sh"))
		if err != nil || readErr != nil || len(names) != 1 || string(text) != "#!/bin/sh\n" {
			t.Errorf("after %s there are %v, %q: %v %v", what, names, text, err, readErr)
		}
		if wrote := len(h.Transcript()) > 0; wrote != (what != "nothing") {
			t.Errorf("%s: the transcript is %v", what, h.Transcript())
		}
	}
}

func TestOnlyProgramsInUseAreRetained(t *testing.T) {
	t.Parallel()

	h := hosttest.New(t)
	s := store.New(h, "/var/lib/fettle/programs")
	if err := s.Retain(withFiles("sha256-a", nil)); err != nil {
		t.Fatal(err)
	}
	for _, digest := range []string{"sha256-a", "sha256-b"} {
		if _, err := s.Dir(t.Context(), h, withFiles(digest, map[string]string{"x": digest})); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Retain(withFiles("sha256-a", nil)); err != nil {
		t.Fatal(err)
	}
	names, err := h.ReadDir("/var/lib/fettle/programs")
	if err != nil || len(names) != 1 || names[0] != "sha256-a" {
		t.Errorf("there are %v, %v", names, err)
	}
}

func TestAPathOnTheHostMustBelongToRootUpToTheRoot(t *testing.T) {
	t.Parallel()

	for want, change := range map[string]func(h *hosttest.Host) error{
		"":                                      func(*hosttest.Host) error { return nil },
		"others than root can change /opt:":     func(h *hosttest.Host) error { return h.Chmod("/opt", 0o777) },
		"others than root can change /opt/zone": func(h *hosttest.Host) error { return h.Chown("/opt/zone", 1000, -1) },
		"others than root can change /opt/zone/lib/a": func(h *hosttest.Host) error { return h.Chmod("/opt/zone/lib/a", 0o666) },
		"/opt/zone/lib/link is a symlink":             func(h *hosttest.Host) error { return h.Symlink("/tmp/a", "/opt/zone/lib/link") },
	} {
		h := hosttest.New(t)
		h.Put("/opt/zone/lib/a", "a")
		if err := change(h); err != nil {
			t.Fatal(err)
		}
		d := &definition.Definition{Spec: v1alpha1.ExternalTypeSpec{Source: v1alpha1.ExternalSource{HostPath: "/opt/zone"}}}
		dir, err := store.New(h, "/var/lib/fettle/programs").Dir(t.Context(), h, d)
		if want == "" && (err != nil || dir != "/opt/zone") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %s, %v", want, dir, err)
		}
	}
}
