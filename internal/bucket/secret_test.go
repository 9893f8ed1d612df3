package bucket_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
)

// record records a content as the secret of /secret.
func record(t *testing.T, b *bucket.Bucket, content string) {
	t.Helper()
	must(t, b.RecordSecrets(t.Context(), map[string]string{"/secret": content}))
}

func holdsSecret(t *testing.T, h *hosttest.Host, b *bucket.Bucket, file string) bool {
	t.Helper()
	opened, err := h.Lookup(file, host.Links{})
	must(t, err)
	defer opened.Close()
	secret, err := b.HoldsSecret(t.Context(), opened, file)
	must(t, err)
	return secret
}

func TestSecretsAreNeverSaved(t *testing.T) {
	h := hosttest.New(t)
	h.Put("/f", "one\n")
	b := of(h)
	record(t, b, "one\n")
	for range 2 { // the second is another process
		if _, err := keep(t, b, h, "/f"); !errors.Is(err, bucket.ErrSecret) {
			t.Errorf("got %v", err)
		}
		if !holdsSecret(t, h, b, "/f") {
			t.Error("the content is not recognized")
		}
		b = of(h)
	}
	h.Put("/f", "two\n")
	save(t, h, "/f", sumTwo)
	if holdsSecret(t, h, b, "/f") {
		t.Error("other content is taken for the secret")
	}
	if all, err := b.List(); err != nil || len(all) != 1 {
		t.Errorf("listed are %v, %v", all, err)
	}
}

func TestCopiesOfNewSecretsAreRemoved(t *testing.T) {
	h := hosttest.New(t)
	h.Put("/f", "one\n")
	b := of(h)
	save(t, h, "/f", sumOne)
	record(t, b, "one\n")
	if _, err := b.Find(sumOne); err == nil {
		t.Error("the copy is still there")
	}
}

func TestAlteredSecretIsRecognizedByPath(t *testing.T) {
	h := hosttest.New(t)
	h.Put("/secret", "s3cret\nand more\n")
	h.Put("/other", "s3cret\nand more\n")
	b := of(h)
	record(t, b, "s3cret\n")
	if _, err := keep(t, b, h, "/secret"); !errors.Is(err, bucket.ErrSecret) {
		t.Errorf("got %v", err)
	}
	if !holdsSecret(t, h, b, "/secret") || holdsSecret(t, h, b, "/other") {
		t.Error("the path is not what the altered secret is recognized by")
	}
	must(t, b.ForgetPath(t.Context(), "/secret"))
	if holdsSecret(t, h, b, "/secret") {
		t.Error("the path is not forgotten")
	}
	h.Put("/secret", "s3cret\n")
	if !holdsSecret(t, h, b, "/secret") {
		t.Error("the content is forgotten with the path")
	}
}

func TestSecretsRecordedByAnotherProcessAreRecognized(t *testing.T) {
	h := hosttest.New(t)
	one, other := of(h), of(h)
	for i := range 10 {
		content, file := fmt.Sprint("s3cret", i), fmt.Sprint("/f", i)
		h.Put(file, content)
		if holdsSecret(t, h, one, file) {
			t.Error("it is taken for a secret")
		}
		record(t, other, content)
		if !holdsSecret(t, h, one, file) {
			t.Fatalf("secret %d is not recognized", i)
		}
	}
}

func TestSecretRecordIsBoundedAndContainsNoSecret(t *testing.T) {
	h := hosttest.New(t)
	b := of(h)
	for batch := range 12 {
		all := map[string]string{}
		for i := range 100 {
			all[fmt.Sprint("/f", batch, "/", i)] = fmt.Sprint("secret", batch, i)
		}
		must(t, b.RecordSecrets(t.Context(), all))
	}
	must(t, b.RecordSecrets(t.Context(), map[string]string{"/empty": ""}))
	dir := filepath.Join(h.Dir(), bucket.DefaultDir, "secrets")
	record, err := os.ReadFile(filepath.Join(dir, "digests"))
	must(t, err)
	paths := strings.Count(string(record), `"/`)
	if digests := strings.Count(string(record), "\n") - paths; digests != 1100 || paths != 1001 || strings.Contains(string(record), "secret") {
		t.Errorf("%d digests and %d paths are recorded: %.200s", digests, paths, record)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v", info.Mode(), err)
	}
	h.Put("/nothing", "")
	if holdsSecret(t, h, b, "/nothing") {
		t.Error("no content at all is a secret")
	}
}

func TestAllCurrentSecretsAreRecorded(t *testing.T) {
	h := hosttest.New(t)
	b := of(h)
	all := map[string]string{}
	for i := range 2500 {
		all[fmt.Sprint("/f", i)] = fmt.Sprint("secret", i)
	}
	must(t, b.RecordSecrets(t.Context(), all))
	before, err := h.Lstat(bucket.DefaultDir + "/secrets/digests")
	must(t, err)
	must(t, of(h).RecordSecrets(t.Context(), all))
	if after, err := h.Lstat(bucket.DefaultDir + "/secrets/digests"); err != nil || after.Ino != before.Ino {
		t.Errorf("what is recorded already is written again: %v", err)
	}
	for _, i := range []int{0, 1, 2499} {
		h.Put("/x", fmt.Sprint("secret", i))
		if !holdsSecret(t, h, b, "/x") {
			t.Errorf("secret %d is not recognized", i)
		}
	}
}
