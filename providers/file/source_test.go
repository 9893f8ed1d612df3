package file_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/file"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// A remote has one content, and records its requests.
type remote struct {
	answer  fetch.Answer
	content string
	err     error
	asked   *[]string
}

// nowhere is a remote for files whose content comes from the host.
var nowhere = remote{err: errors.New("there is no network"), asked: new([]string)}

func (r remote) Ask(context.Context, fetch.Request) (fetch.Answer, error) {
	*r.asked = append(*r.asked, "ask")
	return r.answer, r.err
}

func (r remote) Get(context.Context, fetch.Request) (io.ReadCloser, error) {
	*r.asked = append(*r.asked, "get")
	return io.NopCloser(strings.NewReader(r.content)), r.err
}

func from(t *testing.T, h *hosttest.Host, r remote, spec string) (resource.Resource, error) {
	t.Helper()
	res, err := bound.Kind(file.Type(r)).Bind(ref, []byte(spec))
	must(t, err)
	must(t, res.Choose(nil, h, ""))
	return res, res.Read(t.Context(), resourcetest.Reader(h))
}

func TestSourceOnTheHost(t *testing.T) {
	t.Parallel()

	given := func(content string) func(*testing.T, *hosttest.Host) {
		return func(t *testing.T, h *hosttest.Host) {
			t.Helper()
			h.Put("/srv/two", "two\n")
			if content != "" {
				h.Put("/x", content)
			}
		}
	}
	made := outcome{Changes: []string{"created"}, Done: []string{"write /x 0644 root root"}, After: "/x ---------- 0644 0:0\n  two\n  \n"}
	for sentence, c := range map[string]scenario{
		"is copied":                              {given: given(""), spec: `{path: /x, source: /srv/two}`, want: made},
		"is copied from a URL of a file":         {given: given(""), spec: `{path: /x, source: "file:///srv/two"}`, want: made},
		"is copied with any other algorithm":     {given: given(""), spec: `{path: /x, source: /srv/two, checksum: sha512}`, want: made},
		"is copied if only the time is compared": {given: given(""), spec: `{path: /x, source: /srv/two, checksum: mtime}`, want: made},
		"is compared by its checksum": {
			given: given("one\n"), spec: `{path: /x, source: /srv/two}`,
			want: outcome{Changes: []string{"content changed " + sumOne + " to " + sumTwo}, Done: made.Done, After: made.After},
		},
		"is compared by the given algorithm": {
			given: given("one\n"), spec: `{path: /x, source: /srv/two, checksum: md5}`,
			want: outcome{
				Changes: []string{"content changed {md5}5bbf5a52328e7439ae6e719dfe712200 to {md5}c193497a1a06b2c72230e6146ff47080"},
				Done:    made.Done, After: made.After,
			},
		},
		"with equal content is in sync":       {given: given("two\n"), spec: `{path: /x, source: /srv/two, checksum: sha1lite}`, want: outcome{After: made.After}},
		"is not compared with checksum: none": {given: given("one\n"), spec: `{path: /x, source: /srv/two, checksum: none}`, want: outcome{After: "/x ---------- 0644 0:0\n  one\n  \n"}},
		"is not compared with replace: false": {given: given("one\n"), spec: `{path: /x, source: /srv/gone, replace: false}`, want: outcome{After: "/x ---------- 0644 0:0\n  one\n  \n"}},
		"is not read if the file has the checksumValue": {
			given: given("one\n"), spec: `{path: /x, source: /srv/gone, checksumValue: ` + strings.ToUpper(sumOne[len("{sha256}"):]) + `}`,
			want: outcome{After: "/x ---------- 0644 0:0\n  one\n  \n"},
		},
		"with a checksum other than checksumValue is discarded": {
			given: given("old\n"), spec: `{path: /x, source: /srv/two, checksumValue: ` + sumOne[len("{sha256}"):] + `}`,
			want: outcome{
				Changes: []string{"content changed {sha256}01d09d19c2139a46aebfb577780d123d7396e97201bc7ead210a2ebff8239dee to " + sumOne},
				Err: "cannot set content: cannot write file: write /x: the source has the checksum " + sumTwo +
					", and checksumValue is " + sumOne + ": its content was discarded",
				Done:  []string{"write /x failed"},
				After: "/x ---------- 0644 0:0\n  old\n  \n",
				Left:  []string{"content changed {sha256}01d09d19c2139a46aebfb577780d123d7396e97201bc7ead210a2ebff8239dee to " + sumOne},
			},
		},
	} {
		try(t, map[string]scenario{sentence: c})
	}
}

// The sums are those of sha256sum and the like, by a lite algorithm of the first 512 bytes.
func TestChecksumAlgorithms(t *testing.T) {
	t.Parallel()

	for algorithm, sum := range map[string]string{
		"sha256":     "383dfdb2cc347a2b00bdd7a5af1ad54273701eba52736dde09eb9edbfc836dda",
		"sha512":     "46f2924371806f9e91733b8d547f9e6080ff35a8913fbe7839e69d3413b6d6a3bf36d75dbf2a7cd92c993b2b96697db2cb71edf798cf146702a7550a805cec37",
		"sha384":     "34b19fcc07fccb071fa75ea3f4954bcf7727421835c4311b7a9736836963fd9aac49b2bc2229cb3be8def8bdc0aa16cd",
		"sha224":     "318a5597fd4d675397a95776201d07b6756bc6f2752d09998ee6738c",
		"sha1":       "93dda4dce285f27ce8f50dbfdaeff70cd994e0b4",
		"md5":        "e95496ac9ce3f3f95ac1cfe7905b8423",
		"sha256lite": "471be6558b665e4f6dd49f1184814d1491b0315d466beea768c153cc5500c836",
		"sha1lite":   "164557facb73929875168c1e92caf09bb6064564",
		"md5lite":    "56907396339ca2b099bd12245f936ddc",
	} {
		h := newHost(t, text(strings.Repeat("a", 512)+"b", 0o644, 0, 0))
		r, err := from(t, h, nowhere, `{"path": "/x", "source": "/gone", "checksum": "`+algorithm+`", "checksumValue": "`+sum+`"}`)
		must(t, err)
		if changes := messages(r.Compare().Changes); changes != nil {
			t.Errorf("%s: %v", algorithm, changes)
		}
	}
}

func TestSourceByTime(t *testing.T) {
	t.Parallel()

	h := newHost(t, text("old\n", 0o644, 0, 0))
	h.Put("/srv/a", "new\n")
	must(t, os.Chtimes(filepath.Join(h.Dir(), "x"), time.Unix(0, 0), time.Unix(0, 0)))
	must(t, os.Chtimes(filepath.Join(h.Dir(), "srv/a"), time.Unix(60, 0), time.Unix(60, 0)))
	got := apply(t, h, `{path: /x, source: /srv/a, checksum: mtime}`)
	want := outcome{
		Changes: []string{"content changed {mtime}1970-01-01T00:00:00Z to {mtime}1970-01-01T00:01:00Z"},
		Done:    []string{"write /x 0644 root root"}, After: "/x ---------- 0644 0:0\n  new\n  \n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSourceMustBeARegularFile(t *testing.T) {
	t.Parallel()

	h := newHost(t, text("one\n", 0o644, 0, 0))
	h.PutDir("/srv")
	if _, err := from(t, h, nowhere, `{"path": "/x", "source": "/srv"}`); err == nil || err.Error() != "cannot look at source: /srv is a directory, and only a file has content to copy" {
		t.Errorf("got %v", err)
	}
	silent := remote{asked: new([]string)}
	if _, err := from(t, h, silent, `{"path": "/x", "source": "https://example.com/a?key=s3cret", "checksum": "mtime"}`); err == nil || err.Error() != "cannot look at source: https://example.com/a has no Last-Modified: use another checksum, or set checksumValue" {
		t.Errorf("got %v", err)
	}
	if _, err := from(t, h, nowhere, `{"path": "/x", "source": "/gone"}`); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestSourceByHTTP(t *testing.T) {
	t.Parallel()

	const url = `"source": "https://example.com/a"`
	two := remote{content: "two\n"}
	for sentence, c := range map[string]struct {
		given   string
		answer  fetch.Answer
		spec    string
		changes []string
		asked   []string
	}{
		"is downloaded": {spec: url, changes: []string{"created"}, asked: []string{"get"}},
		"is not requested if the file has the checksumValue": {
			given: "two\n", spec: url + `, "checksumValue": "` + sumTwo[len("{sha256}"):] + `"`,
		},
		"is not downloaded if the announced checksum is equal": {
			given: "two\n", answer: fetch.Answer{Sums: map[string]string{"md5": "c193497a1a06b2c72230e6146ff47080"}}, spec: url, asked: []string{"ask"},
		},
		"is downloaded if the announced checksum differs": {
			given: "one\n", answer: fetch.Answer{Sums: map[string]string{"sha256": sumTwo[len("{sha256}"):]}}, spec: url,
			changes: []string{"content changed " + sumOne + " to " + sumTwo}, asked: []string{"ask", "get"},
		},
		"is downloaded to correct a newer local edit": {
			given: "one\n", answer: fetch.Answer{Modified: time.Unix(0, 0)}, spec: url,
			changes: []string{"content changed " + sumOne + " to " + sumTwo}, asked: []string{"ask", "get", "get"},
		},
		"is not downloaded if it is older and only the time is compared": {
			given: "one\n", answer: fetch.Answer{Modified: time.Unix(0, 0)}, spec: url + `, "checksum": "mtime"`, asked: []string{"ask"},
		},
		"is downloaded to compare if the server announces no checksum": {given: "two\n", spec: url, asked: []string{"ask", "get"}},
		"is downloaded to compare if the server announces another algorithm": {
			given: "two\n", answer: fetch.Answer{Sums: map[string]string{"md5": "0"}, Modified: time.Unix(0, 0)}, spec: url + `, "checksum": "sha512"`, asked: []string{"ask", "get"},
		},
		"is not requested with checksum: none": {given: "one\n", spec: url + `, "checksum": "none"`},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, nil)
			if c.given != "" {
				h.Put("/x", c.given)
			}
			r := two
			r.answer, r.asked = c.answer, new([]string)
			res, err := from(t, h, r, `{"path": "/x", `+c.spec+`}`)
			must(t, err)
			changes := res.Compare().Changes
			if diff := cmp.Diff(c.changes, messages(changes)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if len(changes) > 0 {
				must(t, res.Write(t.Context(), resourcetest.Writer(h), changes))
				if after := resourcetest.Files(h, "/x")(t); after != "/x ---------- 0644 0:0\n  two\n  \n" {
					t.Errorf("after: %s", after)
				}
			}
			if !slices.Equal(*r.asked, c.asked) {
				t.Errorf("asked %v, want %v", *r.asked, c.asked)
			}
		})
	}
}

func TestUnchangedContentIsDownloadedOnce(t *testing.T) {
	t.Parallel()

	h := newHost(t, nil)
	h.Put("/x", "two\n")
	page := struct{ tag, content string }{`"1"`, "two\n"}
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method)
		w.Header().Set("ETag", page.tag)
		_, _ = io.WriteString(w, page.content)
	}))
	t.Cleanup(server.Close)
	kind := bound.Kind(file.Type(fetch.NewHTTP(patient.Limit)))
	read := func() []string {
		t.Helper()
		asked = nil
		res, err := kind.Bind(ref, []byte(`{"path": "/x", "source": "`+server.URL+`"}`))
		must(t, err)
		must(t, res.Choose(nil, h, ""))
		must(t, res.Read(t.Context(), resourcetest.Reader(h)))
		return messages(res.Compare().Changes)
	}
	for _, step := range []struct {
		sentence, tag, content string
		asked, changes         []string
	}{
		{"the first version", `"1"`, "two\n", []string{"HEAD", "GET"}, nil},
		{"the first version again", `"1"`, "two\n", []string{"HEAD"}, nil},
		{"the second version", `"2"`, "one\n", []string{"HEAD", "GET"}, []string{"content changed " + sumTwo + " to " + sumOne}},
		{"the second version again", `"2"`, "one\n", []string{"HEAD"}, []string{"content changed " + sumTwo + " to " + sumOne}},
		{"a weak ETag", `W/"3"`, "two\n", []string{"HEAD", "GET"}, nil},
		{"a weak ETag again", `W/"3"`, "two\n", []string{"HEAD", "GET"}, nil},
	} {
		page.tag, page.content = step.tag, step.content
		if diff := cmp.Diff(step.changes, read()); diff != "" {
			t.Errorf("%s: changes (-want +got):\n%s", step.sentence, diff)
		}
		if diff := cmp.Diff(step.asked, asked); diff != "" {
			t.Errorf("%s: asked (-want +got):\n%s", step.sentence, diff)
		}
	}
}

// Downloaded content is compared with its announced checksum before it replaces anything.
func TestContentWithWrongChecksumIsDiscarded(t *testing.T) {
	t.Parallel()

	for sentence, c := range map[string]struct {
		head, get http.Header
		body      string
		want      string
	}{
		"an announced checksum": {
			get:  http.Header{"X-Checksum-Sha256": {sumTwo[len("{sha256}"):]}},
			want: "the server announced the checksum " + sumTwo + ", but sent content with {sha256}",
		},
		"Digest":         {get: http.Header{"Digest": {"SHA-256=J92O1EqDv5TVV/n9BBLtWoy8pp6gSSLYjAEYSgcwCl0="}}, want: "the server announced"},
		"Repr-Digest":    {get: http.Header{"Repr-Digest": {"sha-256=:J92O1EqDv5TVV/n9BBLtWoy8pp6gSSLYjAEYSgcwCl0=:"}}, want: "the server announced"},
		"Content-MD5":    {get: http.Header{"Content-Md5": {"wZNJehoGsscicuYUb/RwgA=="}}, want: "the server announced"},
		"Content-Length": {get: http.Header{"Content-Length": {"400"}}, want: "unexpected EOF"},
		"beforehand":     {head: http.Header{"X-Checksum-Md5": {"c193497a1a06b2c72230e6146ff47080"}}, want: "but was announced with {md5}c193497a1a06b2c72230e6146ff47080: its content was discarded"},
	} {
		for _, there := range []string{"good\n", ""} {
			if there == "" && c.head != nil {
				continue // a new file is downloaded without a HEAD request
			}
			t.Run(sentence+map[bool]string{true: ", where there was none"}[there == ""], func(t *testing.T) {
				t.Parallel()
				h := newHost(t, nil)
				if there != "" {
					h.Put("/x", there)
				}
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					maps.Copy(w.Header(), map[string]http.Header{http.MethodHead: c.head, http.MethodGet: c.get}[r.Method])
					_, _ = io.WriteString(w, "bad\n")
				}))
				t.Cleanup(server.Close)
				res, err := bound.Kind(file.Type(fetch.NewHTTP(patient.Limit))).Bind(ref, []byte(`{"path": "/x", "source": "`+server.URL+`"}`))
				must(t, err)
				must(t, res.Choose(nil, h, ""))
				err = res.Read(t.Context(), resourcetest.Reader(h))
				if err == nil {
					err = res.Write(t.Context(), resourcetest.Writer(h), res.Compare().Changes)
				}
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v", err)
				}
				if text, err := h.ReadFile("/x"); string(text) != there || (there != "") != (err == nil) {
					t.Errorf("the file is now %q, %v", text, err)
				}
				if names, err := h.ReadDir("/"); err != nil || slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, ".fettle") }) {
					t.Errorf("staged files remain: %v, %v", names, err)
				}
			})
		}
	}
}

func TestInvalidSource(t *testing.T) {
	t.Parallel()

	for spec, want := range map[string]string{
		`{path: /x, source: a}`:                                 `source "a" is neither an absolute path on the host nor an http or https URL: write it as /srv/a, file:///srv/a or https://example.com/a`,
		`{path: /x, source: "puppet:///a"}`:                     `source "puppet:///a" is neither an absolute path on the host nor an http or https URL: write it as /srv/a, file:///srv/a or https://example.com/a`,
		`{path: /x, source: "https://ann:s3cret@example.com/"}`: "source must not contain a user or password: everybody may read the resource",
		`{path: /x, source: "http://example.com/a"}`:            "source is plain http, where anybody on the way can change the content: use https, or set checksumValue (not of a lite checksum)",
		`{path: /x, source: "http://127.example.com/a"}`:        "source is plain http, where anybody on the way can change the content: use https, or set checksumValue (not of a lite checksum)",
		`{path: /x, source: "http://example.com/a", checksum: md5lite, checksumValue: "` + strings.Repeat("0", 32) + `"}`: "source is plain http, where anybody on the way can change the content: use https, or set checksumValue (not of a lite checksum)",
		`{path: /x, source: "https:///a"}`:                          "source is not a valid URL: write it as https://example.com/a",
		`{path: /x, source: /a, checksum: crc}`:                     `checksum "crc" is not known: use sha256, sha512, sha384, sha224, sha1, md5, sha256lite, sha1lite, md5lite, mtime or none`,
		`{path: /x, source: /a, checksum: sha224lite}`:              `checksum "sha224lite" is not known: use sha256, sha512, sha384, sha224, sha1, md5, sha256lite, sha1lite, md5lite, mtime or none`,
		`{path: /x, source: /a, checksumValue: ab}`:                 `checksumValue "ab" is not a checksum by sha256: it has 64 hexadecimal digits`,
		`{path: /x, source: /a, checksum: none, checksumValue: ab}`: `checksumValue "ab" is not a checksum by none: it has 0 hexadecimal digits`,
		`{path: /x, links: ignore}`:                                 `links "ignore" is not known: use manage or follow`,
	} {
		if _, err := bind(t, spec); err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", spec, err, want)
		}
	}
}

func TestLinksFollow(t *testing.T) {
	t.Parallel()

	h := newHost(t, nil)
	h.Put("/srv/real/f", "one\n")
	must(t, h.Symlink("srv/link", "/x"))
	must(t, h.Symlink("real/../real/f", "/srv/link"))
	const spec = `{path: /x, content: "two\n", owner: ann, mode: "0600", links: follow}`
	got := apply(t, h, spec)
	if got.Err != "" || len(got.Left) > 0 || len(got.Changes) != 3 {
		t.Errorf("%+v", got)
	}
	if got.After != "/x L--------- 0777 0:0\n  -> srv/link\n" {
		t.Errorf("the link is now %s", got.After)
	}
	if real := resourcetest.Files(h, "/srv/real/f")(t); real != "/srv/real/f ---------- 0600 1001:0\n  two\n  \n" {
		t.Errorf("the target is %s", real)
	}

	must(t, h.Symlink("/new", "/x"))
	if got := apply(t, h, spec); got.Err != "" || got.Changes[0] != "created" || len(got.Left) > 0 {
		t.Errorf("through a broken link: %+v", got)
	}
	must(t, h.Symlink("x", "/x"))
	r, err := bind(t, spec)
	must(t, err)
	must(t, r.Choose(nil, h, ""))
	if err := r.Read(t.Context(), resourcetest.Reader(h)); err == nil || err.Error() != "cannot look at file: lookup /x: more than 40 symlinks follow one another" {
		t.Errorf("a link to itself: %v", err)
	}
}

func TestSecretHeadersAreSentAndNeverShown(t *testing.T) {
	t.Parallel()

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			http.Error(w, "who are you?", http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, "two\n")
	}))
	t.Cleanup(server.Close)
	header := resource.Secret{Attribute: "headers.Authorization", Value: "Bearer s3cret"}
	kind, spec := bound.Kind(file.Type(fetch.NewHTTP(patient.Limit))), []byte(`{"path": "/x", "source": "`+server.URL+`"}`)
	h := newHost(t, nil)
	h.Put("/x", "one\n")
	res, err := kind.Bind(ref, spec, header)
	must(t, err)
	must(t, res.Kind().RecordSecrets(t.Context(), resourcetest.Writer(h), []resource.Resource{res}))
	must(t, errors.Join(res.Choose(nil, h, ""), res.Read(t.Context(), resourcetest.Reader(h))))
	changes := res.Compare().Changes
	must(t, res.Write(t.Context(), resourcetest.Writer(h), changes))
	if text, err := h.ReadFile("/x"); err != nil || string(text) != "two\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if said := fmt.Sprintf("%+v %s", changes, res.State().Attributes); strings.Contains(said, "s3cret") || !strings.Contains(said, sumTwo) {
		t.Errorf("got %s", said)
	}

	for spec, want := range map[string]string{
		`{"path": "/x", "source": "http://example.com/a", "checksumValue": "` + sumTwo[len("{sha256}"):] + `"}`: "headersFrom would be sent over plain http, where anybody on the way can read it: use https",
		`{"path": "/x", "source": "https://example.com/a", "ca": "none"}`:                                       "ca has no certificate in PEM: each begins with -----BEGIN CERTIFICATE-----, as printed by openssl x509",
	} {
		if _, err := kind.Bind(ref, []byte(spec), header); err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", spec, err, want)
		}
	}
	const injected = "the value of header Authorization has a line break or another control character: remove it from the Secret"
	if _, err := kind.Bind(ref, spec, resource.Secret{Attribute: "headers.Authorization", Value: "Bearer s3cret\nX: y"}); err == nil || err.Error() != injected {
		t.Errorf("got %v", err)
	}
}
