package store_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/image"
	"github.com/fettle-dev/fettle/internal/external/image/archive"
	"github.com/fettle-dev/fettle/internal/external/image/signature"
	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/host/linux"
)

const programs = "/var/lib/fettle/programs"

// withImage returns a type with an image whose digest is a repeated character.
func withImage(c string) *definition.Definition {
	return &definition.Definition{Digest: "sha256-type-" + c, Spec: v1alpha1.ExternalTypeSpec{
		Kind: "Zone", Source: v1alpha1.ExternalSource{Image: "registry.example.com/zone@sha256:" + strings.Repeat(c, 64)},
	}}
}

// A registry has one image. It counts pulls, and may fail after it has unpacked something.
type registry struct {
	image.Local
	signatures []signature.Signature
	pulls      int
	err        error
}

func (r *registry) Pull(ctx context.Context, ref string, to archive.Sink) (image.Content, error) {
	r.pulls++
	c, err := r.Local.Pull(ctx, ref, to)
	c.Signatures = r.signatures
	return c, errors.Join(err, r.err)
}

func (r *registry) Signatures(context.Context, string) ([]signature.Signature, error) {
	return r.signatures, r.err
}

func newRegistry() *registry {
	return &registry{Local: image.Local{
		{Name: "main.sh", Executable: true, Content: []byte("#!/bin/sh\n")}, {Name: "lib/data", Content: []byte("data")},
	}}
}

func TestImagesAreHashedAtEachUse(t *testing.T) {
	t.Parallel()

	h, from, d := hosttest.New(t), newRegistry(), withImage("a")
	s := store.New(h, programs)
	if _, err := s.Dir(t.Context(), h, d); !isMissing(err) || !strings.Contains(err.Error(), "is not on this host yet") {
		t.Fatalf("before the pull: %v", err)
	}
	for _, c := range []struct {
		what   string
		damage func(dir string) error
		want   string
	}{
		{"nothing", func(string) error { return nil }, ""},
		{"a changed file of the same size", func(dir string) error { return os.WriteFile(dir+"/content/lib/data", []byte("evil"), 0o644) }, "another content"},
		{"a longer file", func(dir string) error { return os.WriteFile(dir+"/content/lib/data", []byte("evil data"), 0o644) }, "has 9 bytes, not 4"},
		{"another mode", func(dir string) error { return os.Chmod(dir+"/content/lib/data", 0o666) }, "the mode 0666"},
		{"a directory for all", func(dir string) error { return os.Chmod(dir+"/content/lib", 0o777) }, "the mode 0777"},
		{"a missing file", func(dir string) error { return os.Remove(dir + "/content/lib/data") }, "is missing"},
		{"a further file", func(dir string) error { return os.WriteFile(dir+"/content/lib/b", nil, 0o644) }, "does not belong there"},
		{"a further directory", func(dir string) error { return os.Mkdir(dir+"/content/b", 0o755) }, "does not belong there"},
		{"a symlink", func(dir string) error {
			return errors.Join(os.Remove(dir+"/content/lib/data"), os.Symlink("../main.sh", dir+"/content/lib/data"))
		}, "is a symlink, not a file"},
		{"no record", func(dir string) error { return os.Remove(dir + "/record.json") }, "is not on this host yet"},
		{"a damaged record", func(dir string) error { return os.WriteFile(dir+"/record.json", []byte("{"), 0o644) }, "cannot be used"},
	} {
		if err := s.Pull(t.Context(), from, d); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		dir, err := s.Dir(t.Context(), h, d)
		if want := programs + "/image-sha256-" + strings.Repeat("a", 64) + "/content"; err != nil || dir != want {
			t.Fatalf("%s: %s, %v", c.what, dir, err)
		}
		if err := c.damage(filepath.Dir(filepath.Join(h.Dir(), dir))); err != nil {
			t.Fatal(err)
		}
		if err := s.Check(d); isMissing(err) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if from.pulls != 10 { // at the first time, and after each damage
		t.Errorf("there were %d pulls", from.pulls)
	}
}

func isMissing(err error) bool {
	_, missing := errors.AsType[*store.MissingError](err)
	return missing
}

func TestAFailedPullLeavesNoFilesAndKeepsOtherImages(t *testing.T) {
	t.Parallel()

	h, from := hosttest.New(t), newRegistry()
	s := store.New(h, programs)
	if err := s.Pull(t.Context(), from, withImage("a")); err != nil {
		t.Fatal(err)
	}
	from.err = errors.New("the digest does not match")
	if err := s.Pull(t.Context(), from, withImage("b")); !errors.Is(err, from.err) {
		t.Fatal(err)
	}
	names, err := h.ReadDir(programs)
	if err != nil || len(names) != 1 || s.Check(withImage("a")) != nil || !isMissing(s.Check(withImage("b"))) {
		t.Errorf("there are %v, %v", names, err)
	}
}

func TestSignaturesAreVerifiedAtEachUse(t *testing.T) {
	t.Parallel()

	h, from, d := hosttest.New(t), newRegistry(), withImage("a")
	one, two := newKey(t), newKey(t)
	keys := one.file
	s := store.NewSigned(h, programs, func() (signature.Keys, error) { return signature.ReadKeys(keys) })
	from.signatures = one.sign(t, d)
	if err := s.Pull(t.Context(), from, d); err != nil || s.Check(d) != nil {
		t.Fatal(err, s.Check(d))
	}
	keys = two.file
	if err := s.Check(d); !isMissing(err) || !strings.Contains(err.Error(), "none of its 1 signatures is by a key of "+keys) {
		t.Errorf("with another key: %v", err)
	}
	from.signatures = two.sign(t, d)
	if err := s.Pull(t.Context(), from, d); err != nil || s.Check(d) != nil || from.pulls != 1 {
		t.Errorf("with a further signature: %v, %v, %d pulls", err, s.Check(d), from.pulls)
	}
	keys = filepath.Join(t.TempDir(), "missing")
	if err := s.Check(d); !isMissing(err) || !strings.Contains(err.Error(), keys) {
		t.Errorf("without keys: %v", err)
	}
}

// A key is a private key and the file with the public one.
type key struct {
	private *ecdsa.PrivateKey
	file    string
}

func newKey(t *testing.T) key {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	var der []byte
	if err == nil {
		der, err = x509.MarshalPKIXPublicKey(private.Public())
	}
	file := filepath.Join(t.TempDir(), "cosign.pub")
	if err == nil {
		err = os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return key{private, file}
}

func (k key) sign(t *testing.T, d *definition.Definition) []signature.Signature {
	t.Helper()
	payload := fmt.Appendf(nil, `{"critical":{"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"}}`, definition.ImageDigestOf(d.Spec.Source.Image))
	sum := sha256.Sum256(payload)
	signed, err := ecdsa.SignASN1(rand.Reader, k.private, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return []signature.Signature{{Payload: payload, Bytes: signed}}
}

func TestProgramsThatAreNotUsedAreRemovedOnce(t *testing.T) {
	t.Parallel()

	h, from := hosttest.New(t), newRegistry()
	s := store.New(h, programs)
	for _, c := range []string{"a", "b"} {
		if err := s.Pull(t.Context(), from, withImage(c)); err != nil {
			t.Fatal(err)
		}
	}
	h.Put(programs+"/image-sha256-interrupted/content/main.sh", "half of a scr")
	if err := s.Retain(withImage("a")); err != nil {
		t.Fatal(err)
	}
	if names, err := h.ReadDir(programs); err != nil || len(names) != 1 {
		t.Errorf("there are %v, %v", names, err)
	}
	h.PutDir(programs + "/unknown")
	if err := s.Retain(withImage("a")); err != nil {
		t.Fatal(err)
	}
	if names, err := h.ReadDir(programs); err != nil || len(names) != 2 {
		t.Errorf("it listed the directory again, and left %v, %v", names, err)
	}
	if err := s.RetainNewer(time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if names, err := h.ReadDir(programs); err != nil || len(names) != 2 {
		t.Errorf("of new programs, it left %v, %v", names, err)
	}
	if err := s.RetainNewer(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if names, err := h.ReadDir(programs); err != nil || len(names) != 0 {
		t.Errorf("of old programs, it left %v, %v", names, err)
	}
}

func TestAMissingImageIsPulledOnDemandOnce(t *testing.T) {
	t.Parallel()

	h, from := hosttest.New(t), newRegistry()
	from.err = errors.New("connection refused")
	s := store.NewOnDemand(store.New(h, programs), from)
	s.Prepare(t.Context(), withImage("a"))
	for range 2 {
		if _, err := s.Dir(t.Context(), h, withImage("a")); !errors.Is(err, from.err) || from.pulls != 1 {
			t.Errorf("%v after %d pulls", err, from.pulls)
		}
	}
	from.err = nil
	if dir, err := s.Dir(t.Context(), h, withImage("b")); err != nil || !strings.HasPrefix(dir, programs) {
		t.Errorf("%s, %v", dir, err)
	}
}

// A stuck registry unpacks its image and does not return.
type stuck struct{ *registry }

func (s stuck) Pull(ctx context.Context, ref string, to archive.Sink) (image.Content, error) {
	_, err := s.registry.Pull(ctx, ref, to)
	fmt.Println("unpacked", err) // for the parent
	select {}
}

const childVar = "FETTLE_TEST_STORE"

func child(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), childVar+"="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

func open(t *testing.T, root string) *store.Store {
	t.Helper()
	h, err := linux.Open(linux.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return store.New(h, "/programs")
}

func TestAPullThatIsKilledIsRepeated(t *testing.T) {
	if dir := os.Getenv(childVar); dir != "" {
		_ = open(t, dir).Pull(t.Context(), stuck{newRegistry()}, withImage("b"))
		return
	}
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.Pull(t.Context(), newRegistry(), withImage("a")); err != nil {
		t.Fatal(err)
	}
	cmd := child(t, dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "unpacked <nil>\n" {
		t.Fatalf("the child wrote %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	names, err := filepath.Glob(filepath.Join(dir, "programs/*/content/main.sh"))
	if err != nil || len(names) != 2 {
		t.Fatalf("the child left %v, %v", names, err)
	}
	if s.Check(withImage("a")) != nil || !isMissing(s.Check(withImage("b"))) {
		t.Errorf("the images are %v and %v", s.Check(withImage("a")), s.Check(withImage("b")))
	}
	if err := s.Pull(t.Context(), newRegistry(), withImage("b")); err != nil || s.Check(withImage("b")) != nil {
		t.Errorf("the next pull: %v, %v", err, s.Check(withImage("b")))
	}
}

// The child has a small file system of its own.
func TestAFullDiskLeavesTheOtherImages(t *testing.T) {
	large := newRegistry()
	large.Local = append(slices.Clone(large.Local), archive.Source{Name: "large", Content: bytes.Repeat([]byte("x"), 2<<20)})
	if dir := os.Getenv(childVar); dir != "" {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir)
		if err := s.Pull(t.Context(), newRegistry(), withImage("a")); err != nil {
			t.Fatal(err)
		}
		if err := s.Pull(t.Context(), large, withImage("b")); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("the error is %v", err)
		}
		if err := s.Check(withImage("a")); err != nil {
			t.Error(err)
		}
		if names, err := os.ReadDir(filepath.Join(dir, "programs")); err != nil || len(names) != 1 {
			t.Errorf("there are %v, %v", names, err)
		}
		return
	}
	cmd := child(t, t.TempDir())
	cmd.Stdout = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	if err := cmd.Run(); err != nil {
		t.Errorf("the child: %v", err)
	}
}
