package bucket_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
)

func TestASecretIsNeverKept(t *testing.T) {
	h := hosttest.New(t)
	h.Put("/f", "one\n")
	b := of(h)
	must(t, b.Shun(t.Context(), "one\n"))
	for range 2 { // the second is another process
		if _, err := b.Save(t.Context(), h, "/f"); !errors.Is(err, bucket.ErrSecret) {
			t.Errorf("got %v", err)
		}
		if secret, err := b.IsSecret(t.Context(), h, "/f"); err != nil || !secret {
			t.Errorf("got %t, %v", secret, err)
		}
		b = of(h)
	}
	h.Put("/f", "two\n")
	save(t, h, "/f", sumTwo)
	if secret, err := b.IsSecret(t.Context(), h, "/f"); err != nil || secret {
		t.Errorf("got %t, %v", secret, err)
	}
	if all, err := b.List(); err != nil || len(all) != 1 {
		t.Errorf("listed are %v, %v", all, err)
	}
}

func TestOfSecretsNothingIsNotedThatTells(t *testing.T) {
	h := hosttest.New(t)
	b := of(h)
	for i := range 1010 {
		must(t, b.Shun(t.Context(), fmt.Sprint("secret", i%1005)))
	}
	must(t, b.Shun(t.Context(), ""))
	dir := filepath.Join(h.Dir(), bucket.DefaultDir, "secrets")
	digests, err := os.ReadFile(filepath.Join(dir, "digests"))
	must(t, err)
	if n := strings.Count(string(digests), "\n"); n != 1000 || strings.Contains(string(digests), "secret") {
		t.Errorf("%d are noted: %.200s", n, digests)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v", info.Mode(), err)
	}
	h.Put("/empty", "")
	if secret, err := b.IsSecret(t.Context(), h, "/empty"); err != nil || secret {
		t.Errorf("no content at all is a secret: %t, %v", secret, err)
	}
}
