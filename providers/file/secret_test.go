package file_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/redact"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/file"
)

// hidden reads /x with a secret as the desired content.
func hidden(t *testing.T, h *hosttest.Host, spec, content string) resource.Resource {
	t.Helper()
	r, err := bound.Kind(file.Type(nowhere)).Bind(ref, json.RawMessage(spec), resource.Secret{Attribute: "content", Value: content})
	if err == nil {
		err = errors.Join(r.Choose(nil, h, ""), r.Read(t.Context(), resourcetest.Reader(h)))
	}
	must(t, err)
	return r
}

func TestSecretContentIsNeitherShownNorBackedUp(t *testing.T) {
	t.Parallel()

	for sentence, spec := range map[string]string{
		"without further attributes": `{"path": "/x", "mode": "0600"}`,
		"with showDiff: true":        `{"path": "/x", "mode": "0600", "showDiff": true}`,
		"with backup: Bucket":        `{"path": "/x", "mode": "0600", "backup": "Bucket"}`,
		"with a backup suffix":       `{"path": "/x", "mode": "0600", "backup": ".bak"}`,
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, text("0ld-s3cret\n", 0o600, 0, 0))
			r := hidden(t, h, spec, "n3w-s3cret\xff\x00\n")
			c := r.Compare()
			want := []resource.Change{{Property: "content", Is: redact.Mark, Should: redact.Mark, Message: "changed content", Sensitive: true}}
			if diff := cmp.Diff(want, c.Changes); diff != "" {
				t.Error(diff)
			}
			if shown := fmt.Sprint(c.Observed); strings.Contains(shown, "sha256") || strings.Contains(shown, "s3cret") {
				t.Errorf("the recorded state contains the content: %s", shown)
			}
			must(t, r.Write(t.Context(), resourcetest.Writer(h), c.Changes))
			if got, err := h.ReadFile("/x"); err != nil || string(got) != "n3w-s3cret\xff\x00\n" {
				t.Errorf("the file has %q, %v", got, err)
			}
			if all := saved(t, h); len(all) > 0 {
				t.Errorf("the bucket has %v", all)
			}
			if _, err := h.Lstat("/x.bak"); err == nil {
				t.Error("a copy was saved beside the file")
			}
			must(t, r.Read(t.Context(), resourcetest.Reader(h)))
			if left := r.Compare().Changes; len(left) > 0 {
				t.Errorf("it is still to change: %v", left)
			}
		})
	}
}

func TestSecretContentImpliesAFile(t *testing.T) {
	t.Parallel()

	h := newHost(t, nil)
	r := hidden(t, h, `{"path": "/x"}`, "s3cret")
	want := []resource.Change{{Property: "ensure", Is: "absent", Should: "file", Detail: "with mode 0600", Message: "created, with mode 0600"}}
	if diff := cmp.Diff(want, r.Compare().Changes); diff != "" {
		t.Error(diff)
	}
}

func TestValidateCmdOutputOfASecretIsHidden(t *testing.T) {
	t.Parallel()

	h := newHost(t, text("one\n", 0o600, 0, 0))
	var seen []string
	checker(t, h, &seen)
	r := hidden(t, h, `{"path": "/x", "validateCmd": "checker %"}`, "a bad s3cret")
	err := r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes)
	if err == nil || !strings.HasSuffix(err.Error(), `exited with 3, so the file stays as it is; its output is not shown, because the content is a secret`) {
		t.Errorf("got %v", err)
	}
}

func TestAuditOfASecretIsAKeyedDigest(t *testing.T) {
	t.Parallel()

	digest := func(content string) string {
		r := hidden(t, newHost(t, text(content, 0o600, 0, 0)), `{"path": "/x"}`, "s3cret")
		must(t, r.Audit([]string{"content"}))
		must(t, r.Read(t.Context(), resourcetest.Reader(newHost(t, text(content, 0o600, 0, 0)))))
		return r.Audited([]byte("key"))[0].Value
	}
	if digest("s3cret") == digest("other") || digest("other") == digest("another") {
		t.Errorf("digests are %s, %s and %s", digest("s3cret"), digest("other"), digest("another"))
	}
	if !strings.HasPrefix(digest("s3cret"), "{hmac-sha256}") {
		t.Errorf("the digest is %s", digest("s3cret"))
	}
}

// recorded returns a host on which a run has read /x with secret content in sync.
func recorded(t *testing.T, content string) *hosttest.Host {
	t.Helper()
	h := newHost(t, text(content, 0o600, 0, 0))
	r := hidden(t, h, `{"path": "/x"}`, content)
	if changes := r.Compare().Changes; len(changes) > 0 {
		t.Fatalf("it is not in sync: %v", changes)
	}
	must(t, r.Kind().RecordSecrets(t.Context(), resourcetest.Writer(h), []resource.Resource{r}))
	return h
}

// ordinary reads a File without a secret of its own.
func ordinary(t *testing.T, h *hosttest.Host, spec string) resource.Resource {
	t.Helper()
	r, err := bind(t, spec)
	must(t, err)
	must(t, r.Audit([]string{"content"}))
	must(t, errors.Join(r.Choose(nil, h, ""), r.Read(t.Context(), resourcetest.Reader(h))))
	return r
}

func TestFormerSecretIsNotShown(t *testing.T) {
	t.Parallel()

	for sentence, c := range map[string]struct {
		now  string // the content when the File gets other content
		spec string
	}{
		"new content":                          {"s3cret\n", `{path: /x, content: "plain\n"}`},
		"new content after a local edit":       {"s3cret\nand more\n", `{path: /x, content: "plain\n"}`},
		"a source":                             {"s3cret\n", `{path: /x, source: /srv/two}`},
		"a source compared by MD5":             {"s3cret\n", `{path: /x, source: /srv/two, checksum: md5}`},
		"a source compared by a lite checksum": {"s3cret\n", `{path: /x, source: /srv/two, checksum: sha256lite}`},
		"a source that is secret":              {"two\n", `{path: /y, source: /x}`},
		"an audit":                             {"s3cret\n", `{path: /x}`},
		"new content through a link":           {"s3cret\n", `{path: /link, content: "plain\n", links: follow}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			h := recorded(t, "s3cret\n")
			h.Put("/x", c.now)
			h.Put("/y", "old\n")
			h.Put("/srv/two", "two\n")
			must(t, h.Symlink("/x", "/link"))
			r := ordinary(t, h, c.spec)
			shown := fmt.Sprintf("%+v %+v %s", r.Compare(), r.Audited([]byte("key")), r.State().Attributes)
			sum := sha256.Sum256([]byte(c.now))
			for _, secret := range []string{"s3cret", hex.EncodeToString(sum[:])[:8], "{sha256}", "{md5}", "{sha256lite}"} {
				if strings.Contains(shown, secret) {
					t.Errorf("%q is shown: %s", secret, shown)
				}
			}
		})
	}
}

func TestContentIsShownAfterASecretWasReplaced(t *testing.T) {
	t.Parallel()

	h := recorded(t, "s3cret\n")
	r := ordinary(t, h, `{path: /x, content: "plain\n"}`)
	must(t, r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes))
	h.Put("/x", "edited\n")
	changes := ordinary(t, h, `{path: /x, content: "plain\n"}`).Compare().Changes
	if len(changes) != 1 || changes[0].Sensitive || !strings.Contains(changes[0].Diff, "-edited\n+plain\n") {
		t.Errorf("got %+v", changes)
	}
}

func TestSecretThatWasInSyncIsNotBackedUp(t *testing.T) {
	t.Parallel()

	for _, backup := range []string{"Bucket", ".bak"} {
		for _, now := range []string{"s3cret\n", "s3cret\nand more\n"} {
			h := recorded(t, "s3cret\n")
			h.Put("/x", now)
			r := ordinary(t, h, `{path: /x, content: plain, backup: `+backup+`}`)
			must(t, r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes))
			if all := saved(t, h); len(all) > 0 {
				t.Errorf("the bucket has %v", all)
			}
			if _, err := h.Lstat("/x.bak"); err == nil {
				t.Error("a copy was saved beside the file")
			}
		}
	}
}

func TestFormerSecretIsNotBackedUp(t *testing.T) {
	t.Parallel()

	for sentence, spec := range map[string]string{
		"new content that is not secret":   `{"path": "/x", "content": "plain"}`,
		"removal":                          `{"path": "/x", "ensure": "absent"}`,
		"a link":                           `{"path": "/x", "target": "/y"}`,
		"new content with a backup suffix": `{"path": "/x", "content": "plain", "backup": ".bak"}`,
		"a directory":                      `{"path": "/x", "ensure": "directory"}`,
		"removal with a backup suffix":     `{"path": "/x", "ensure": "absent", "backup": ".bak"}`,
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, nil)
			r := hidden(t, h, `{"path": "/x"}`, "s3cret")
			must(t, r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes))

			next, err := bound.Kind(file.Type(nowhere)).Bind(ref, json.RawMessage(spec))
			must(t, errors.Join(err, next.Choose(nil, h, ""), next.Read(t.Context(), resourcetest.Reader(h))))
			must(t, next.Write(t.Context(), resourcetest.Writer(h), next.Compare().Changes))
			if all := saved(t, h); len(all) > 0 {
				t.Errorf("the bucket has %v", all)
			}
			if _, err := h.Lstat("/x.bak"); err == nil {
				t.Error("a copy was saved beside the file")
			}
		})
	}
}

func TestFormerSecretCannotBeRestored(t *testing.T) {
	t.Parallel()

	h := newHost(t, nil)
	r := hidden(t, h, `{"path": "/x"}`, "s3cret")
	must(t, r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes))
	next, err := bound.Kind(file.Type(nowhere)).Bind(ref, json.RawMessage(`{"path": "/x", "content": "plain"}`))
	must(t, errors.Join(err, next.Choose(nil, h, ""), next.Read(t.Context(), resourcetest.Reader(h))))
	if _, err := next.RestoreAttributes(t.Context(), resourcetest.Writer(h), next.Compare().Changes); !errors.Is(err, bucket.ErrSecret) {
		t.Errorf("got %v", err)
	}
}

func TestNewSecretFileIsOnlyForRootUnlessModeIsManaged(t *testing.T) {
	t.Parallel()

	link := func(t *testing.T, h *hosttest.Host) { t.Helper(); must(t, h.Symlink("/nowhere", "/x")) }
	for sentence, c := range map[string]struct {
		given         func(*testing.T, *hosttest.Host)
		spec, message string
		mode          uint32
	}{
		"a new file":                                 {nil, `{"path": "/x"}`, "created, with mode 0600", 0o600},
		"a new file that may be anything":            {nil, `{"path": "/x", "ensure": "present"}`, "created, with mode 0600", 0o600},
		"a new file of a user":                       {nil, `{"path": "/x", "owner": "ann"}`, "created, with mode 0600", 0o600},
		"a file instead of a link":                   {link, `{"path": "/x", "ensure": "file"}`, "ensure changed link to file, with mode 0600", 0o600},
		"a file instead of a directory":              {dir(0o755, 0, 0), `{"path": "/x", "ensure": "file", "force": true}`, "ensure changed directory to file, with mode 0600", 0o600},
		"a new file with a mode":                     {nil, `{"path": "/x", "mode": "0644"}`, "created", 0o644},
		"a new file with a mode that adds something": {nil, `{"path": "/x", "mode": "g+r"}`, "created", 0o640},
		"an existing file keeps its mode":            {text("old", 0o640, 0, 0), `{"path": "/x"}`, "changed content", 0o640},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, c.given)
			r := hidden(t, h, c.spec, "s3cret")
			changes := r.Compare().Changes
			if len(changes) != 1 || changes[0].Message != c.message {
				t.Errorf("got %+v, want the message %q", changes, c.message)
			}
			must(t, r.Write(t.Context(), resourcetest.Writer(h), changes))
			if info, err := h.Lstat("/x"); err != nil || info.Mode != c.mode {
				t.Errorf("the file has mode %04o, %v; want %04o", info.Mode, err, c.mode)
			}
		})
	}
}

func TestNewCopyOfASecretFileIsOnlyForRoot(t *testing.T) {
	t.Parallel()

	for sentence, spec := range map[string]string{
		"a source":                 `{path: /y, source: /x}`,
		"one of several sources":   `{path: /y, sources: [/x, /srv/two]}`,
		"a copy instead of a link": `{path: /link, source: /x, ensure: file}`,
	} {
		h := recorded(t, "s3cret\n")
		must(t, h.Symlink("/nowhere", "/link"))
		h.Put("/srv/two", "two\n")
		r := ordinary(t, h, spec)
		changes := r.Compare().Changes
		if len(changes) != 1 || !strings.HasSuffix(changes[0].Message, ", with mode 0600") {
			t.Errorf("%s: got %+v", sentence, changes)
		}
		must(t, r.Write(t.Context(), resourcetest.Writer(h), changes))
		if info, err := h.Lstat(r.Namevar()); err != nil || info.Mode != 0o600 {
			t.Errorf("%s: the file has mode %04o, %v", sentence, info.Mode, err)
		}
	}
}

// A check that reads the staged content sees the mode that it has, and no other moment gives it a wider one.
func TestStagedSecretIsOnlyForRoot(t *testing.T) {
	t.Parallel()

	for _, given := range []func(*testing.T, *hosttest.Host){nil, dir(0o755, 0, 0)} {
		h := newHost(t, given)
		var modes []string
		h.Handle("checker", func(c host.Cmd) host.Result {
			info, err := h.Lstat(c.Args[1])
			modes = append(modes, fmt.Sprintf("%04o %v", info.Mode, err))
			return host.Result{}
		})
		r := hidden(t, h, `{"path": "/x", "ensure": "file", "force": true, "validateCmd": "checker %"}`, "s3cret")
		must(t, r.Write(t.Context(), resourcetest.Writer(h), r.Compare().Changes))
		for _, m := range modes {
			if m != "0600 <nil>" {
				t.Errorf("the staged file has %v", modes)
			}
		}
		if len(modes) == 0 {
			t.Error("nothing was checked")
		}
	}
}
