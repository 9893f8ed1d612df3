package file_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/file"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

func TestFirstExistingSourceIsUsed(t *testing.T) {
	t.Parallel()

	mux := http.NewServeMux()
	mux.HandleFunc("/two", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "web\n") })
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for sources, c := range map[string]struct{ want, err string }{
		`["/srv/one", "/srv/two"]`:         {want: "one\n"},
		`["/srv/none", "file:///srv/two"]`: {want: "two\n"},
		`["AT/none", "AT/gone", "AT/two"]`: {want: "web\n"},
		`["/srv/none", "AT/two"]`:          {want: "web\n"},
		`["AT/none", "/srv/one"]`:          {want: "one\n"},
		`["AT/broken", "/srv/one"]`:        {err: "cannot look at source: cannot fetch AT/broken: the server responded with 500 Internal Server Error"},
		`["AT/none?key=s3cret", "/srv/n"]`: {err: "none of the sources exists: AT/none, /srv/n"},
	} {
		for _, there := range []string{"", "old\n"} {
			h := newHost(t, nil)
			h.Put("/srv/one", "one\n")
			h.Put("/srv/two", "two\n")
			if there != "" {
				h.Put("/x", there)
			}
			res, err := bound.Kind(file.Type(fetch.NewHTTP(patient.Limit))).Bind(ref, []byte(strings.ReplaceAll(`{"path": "/x", "sources": `+sources+`}`, "AT", server.URL)))
			must(t, err)
			must(t, res.Choose(nil, h, ""))
			err = res.Read(t.Context(), resourcetest.Reader(h))
			if err == nil {
				err = res.Write(t.Context(), resourcetest.Writer(h), res.Compare().Changes)
			}
			if c.err != "" {
				if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), server.URL, "AT"), c.err) || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("%s: got %v", sources, err)
				}
				continue
			}
			must(t, errors.Join(err, res.Read(t.Context(), resourcetest.Reader(h))))
			if text, err := h.ReadFile("/x"); err != nil || string(text) != c.want || len(res.Compare().Changes) > 0 {
				t.Errorf("%s: the file has %q, %v, and still to change are %v", sources, text, err, res.Compare().Changes)
			}
		}
	}
}

func TestRecursionCopiesFirstExistingSource(t *testing.T) {
	t.Parallel()

	h := hosttest.New(t)
	h.Put("/srv/b/f", "b\n")
	h.Put("/srv/c/f", "c\n")
	report := runForest(t, h, forest{files: []string{`{path: /x, recurse: true, sources: [/srv/a, /srv/b, /srv/c]}`}})
	if text, err := h.ReadFile("/x/f"); err != nil || string(text) != "b\n" {
		t.Errorf("copied is %q, %v: %q", text, err, reportLines(report))
	}
}

func TestInvalidSources(t *testing.T) {
	t.Parallel()

	for spec, want := range map[string]string{
		`{path: /x, sources: [/a, b]}`:                      `sources: source "b" is neither an absolute path on the host nor an http or https URL: write it as /srv/a, file:///srv/a or https://example.com/a`,
		`{path: /x, sources: [/a, "http://example.com/a"]}`: "sources: source is plain http, where anybody on the way can change the content: use https, or set checksumValue (not of a lite checksum)",
		`{path: /x, recurse: true, sources: [/a, /x/b]}`:    "source /x/b and path /x must not contain one another: use other directories",
	} {
		if _, err := bind(t, spec); err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", spec, err, want)
		}
	}
}

func TestPlanChoosesSourcesLikeApply(t *testing.T) {
	t.Parallel()

	for sources, want := range map[string]string{
		`["/srv/none", "/srv/two"]`:  "",
		`["/srv/none", "/srv/also"]`: "none of the sources exists: /srv/none, /srv/also",
	} {
		h := newHost(t, nil)
		h.Put("/srv/two", "two\n")
		res, err := bound.Kind(file.Type(fetch.NewHTTP(patient.Limit))).Bind(ref, []byte(`{"path": "/x", "sources": `+sources+`}`))
		must(t, errors.Join(err, res.Choose(nil, h, ""), res.Read(t.Context(), resourcetest.Reader(h.ReadOnly()))))
		errs := res.Provider().Precheck(t.Context(), resourcetest.Reader(h.ReadOnly()), []resource.BatchItem{{Resource: res, Changes: res.Compare().Changes}})
		got := ""
		if errs[0] != nil {
			got = errs[0].Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", sources, got, want)
		}
	}
}
