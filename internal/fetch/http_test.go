package fetch_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

const sha = "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806"

// server serves one page for each test.
func server(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/summed", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Checksum-Sha256", strings.ToUpper(sha))
		w.Header().Set("X-Checksum-Sha1", "no sum")
		w.Header().Set("Content-MD5", "Wz0Ll6FBv3pTVJ8wH2EPoQ==")
		w.Header().Set("Last-Modified", "Fri, 20 Nov 2026 10:00:00 GMT")
		w.Header().Set("Date", "Fri, 20 Nov 2026 10:00:30 GMT")
	})
	mux.HandleFunc("/plain", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "one\n") })
	mux.HandleFunc("GET /getonly", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("ETag", `"1"`)
		fmt.Fprint(w, "one\n")
	})
	mux.HandleFunc("/weak", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("ETag", `W/"1"`) })
	mux.HandleFunc("/old", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Last-Modified", "Thu, 01 Jan 1970 00:00:00 GMT")
	})
	mux.HandleFunc("/new", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Last-Modified", "Thu, 01 Jan 1970 00:00:30 GMT")
		w.Header().Set("Date", "Thu, 01 Jan 1970 00:01:00 GMT")
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/torn", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "one\n")
	})
	mux.HandleFunc("/silent", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "one\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestAsk(t *testing.T) {
	t.Parallel()

	at, source := server(t), fetch.NewHTTP(patient.Limit)
	for path, want := range map[string]fetch.Answer{
		"/summed": {
			Sums:     map[string]string{"sha256": sha, "md5": "5b3d0b97a141bf7a53549f301f610fa1"},
			Modified: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC),
		},
		"/plain":   {Sums: map[string]string{}},
		"/getonly": {Sums: map[string]string{}, Version: `ETag "1"`},
		"/weak":    {Sums: map[string]string{}},
		"/old":     {Sums: map[string]string{}, Modified: time.Unix(0, 0).UTC(), Version: "Last-Modified 1970-01-01T00:00:00Z"},
		"/new":     {Sums: map[string]string{}, Modified: time.Unix(30, 0).UTC()},
	} {
		got, err := source.Ask(t.Context(), fetch.Request{URL: at + path})
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestGet(t *testing.T) {
	t.Parallel()

	at, source := server(t), fetch.NewHTTP(patient.Limit)
	for path, want := range map[string]string{
		"/plain?token=s3cret": "",
		"/nowhere?key=s3cret": "cannot fetch AT/nowhere: the server responded with 404 Not Found",
		"/loop?key=s3cret":    "cannot fetch AT/loop: more than 10 redirects",
		"/torn?token=s3cret":  "cannot fetch AT/torn: unexpected EOF",
	} {
		body, err := source.Get(t.Context(), fetch.Request{URL: at + path})
		text := "one\n"
		if err == nil {
			var all []byte
			all, err = io.ReadAll(body)
			text = string(all)
			err = errors.Join(err, body.Close())
		}
		if text != "one\n" || want == "" && err != nil || want != "" && (err == nil || strings.ReplaceAll(err.Error(), at, "AT") != want) {
			t.Errorf("%s: %q, %v\nwant %s", path, text, err, want)
		}
	}
}

func TestBodyIsLimited(t *testing.T) {
	t.Parallel()

	at := server(t)
	for most, want := range map[int64]string{4: "", 3: "cannot fetch AT/plain: it exceeds the limit of 3 bytes"} {
		body, err := fetch.NewHTTP(patient.Limit).Get(t.Context(), fetch.Request{URL: at + "/plain", MaxBytes: most})
		if err == nil {
			_, err = io.ReadAll(body)
			err = errors.Join(err, body.Close())
		}
		if want == "" && err != nil || want != "" && (err == nil || strings.ReplaceAll(err.Error(), at, "AT") != want) {
			t.Errorf("with at most %d: %v\nwant %s", most, err, want)
		}
	}
}

func TestSilentServerIsNotAwaited(t *testing.T) {
	t.Parallel()

	at := server(t)
	patient.Lengthen(t, 200*time.Millisecond, func(silence time.Duration) bool {
		body, err := fetch.NewHTTP(silence).Get(t.Context(), fetch.Request{URL: at + "/silent?token=s3cret"})
		if err != nil {
			return false // the answer did not begin within this time
		}
		text, err := io.ReadAll(body)
		_ = body.Close()
		want := "cannot fetch " + at + "/silent: the server stopped sending"
		if string(text) != "one\n" || err == nil || err.Error() != want {
			t.Errorf("got %q, %v\nwant %s", text, err, want)
		}
		return true
	})
}

func TestEndlessBodyTimesOut(t *testing.T) {
	t.Parallel()

	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = fmt.Fprint(w, ".")
			_ = http.NewResponseController(w).Flush()
		}
	}))
	t.Cleanup(s.Close)
	patient.Lengthen(t, 50*time.Millisecond, func(limit time.Duration) bool {
		body, err := fetch.NewHTTP(patient.Limit).Within(limit).Get(t.Context(), fetch.Request{URL: s.URL})
		if err != nil {
			return false // the answer did not begin within this time
		}
		_, err = io.ReadAll(body)
		err = errors.Join(err, body.Close())
		if err == nil || !strings.HasSuffix(err.Error(), "the transfer takes too long") {
			t.Errorf("got %v", err)
		}
		return true
	})
}

func TestRedirectToInsecureURLIsRejected(t *testing.T) {
	t.Parallel()

	s := httptest.NewServer(http.RedirectHandler("http://192.0.2.1/", http.StatusFound))
	t.Cleanup(s.Close)
	_, err := fetch.NewHTTP(patient.Limit).Get(t.Context(), fetch.Request{URL: s.URL})
	if err == nil || !strings.HasSuffix(err.Error(), "it redirects to plain http, where anybody on the network path can read and change the content") {
		t.Errorf("got %v", err)
	}
}

func TestNotFoundIsDistinguished(t *testing.T) {
	t.Parallel()

	at, source := server(t), fetch.NewHTTP(patient.Limit)
	_, err := source.Ask(t.Context(), fetch.Request{URL: at + "/nowhere"})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := source.Get(t.Context(), fetch.Request{URL: at + "/loop"}); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestHeadersAreNotSentToOtherHosts(t *testing.T) {
	t.Parallel()

	var got []string
	note := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			got = append(got, fmt.Sprintf("%s %s %q %q", name, r.Method, r.Header.Get("Authorization"), r.Header.Get("X-Token")))
			_, _ = io.WriteString(w, "one\n")
		}
	}
	other := httptest.NewServer(note("other"))
	t.Cleanup(other.Close)
	mux := http.NewServeMux()
	mux.Handle("/here", note("here"))
	mux.Handle("/near", http.RedirectHandler("/here", http.StatusFound))
	mux.Handle("/far", http.RedirectHandler(other.URL+"/", http.StatusFound))
	one := httptest.NewServer(mux)
	t.Cleanup(one.Close)

	source := fetch.NewHTTP(patient.Limit)
	for _, path := range []string{"/here", "/near", "/far"} {
		what := fetch.Request{URL: one.URL + path, Headers: []fetch.Header{{Name: "Authorization", Value: "Bearer s3cret"}, {Name: "x-token", Value: "t0ken"}}}
		_, err := source.Ask(t.Context(), what)
		var body io.ReadCloser
		if err == nil {
			body, err = source.Get(t.Context(), what)
		}
		if err == nil {
			err = body.Close()
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	want := []string{
		`here HEAD "Bearer s3cret" "t0ken"`, `here GET "Bearer s3cret" "t0ken"`, `here HEAD "Bearer s3cret" "t0ken"`, `here GET "Bearer s3cret" "t0ken"`,
		`other HEAD "" ""`, `other GET "" ""`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInvalidHeaderIsRejectedAndHidden(t *testing.T) {
	t.Parallel()

	at := server(t)
	for _, c := range []struct{ name, value, want string }{
		{"Authorization", "s3cret\r\nX-Other: 1", "the value of header Authorization has a line break or another control character: remove it from the Secret"},
		{"Authorization", "s3cret\n", "the value of header Authorization has a line break or another control character: remove it from the Secret"},
		{"A: b\r\nX", "s3cret", `invalid header name "A: b\r\nX": use letters, digits, - and _, as in Authorization`},
		{"", "s3cret", `invalid header name "": use letters, digits, - and _, as in Authorization`},
		{"hOST", "s3cret", "header hOST is set by the HTTP client: remove it"},
	} {
		h := fetch.Header{Name: c.name, Value: c.value}
		_, err := fetch.NewHTTP(patient.Limit).Get(t.Context(), fetch.Request{URL: at + "/plain", Headers: []fetch.Header{h}})
		if problem := h.Problem(); problem == nil || problem.Error() != c.want || err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("got  %v, %v\nwant %s", problem, err, c.want)
		}
		if said := fmt.Sprintf("%v %+v %#v %s", h, h, h, h); strings.Contains(said, "s3cret") {
			t.Errorf("the header prints as %s", said)
		}
	}
}

func TestOnlyGivenCertificatesAreTrusted(t *testing.T) {
	t.Parallel()

	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "one\n") }))
	t.Cleanup(s.Close)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	own := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	other := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate(t)}))
	for ca, want := range map[string]string{own: "", other: "certificate signed by unknown authority", "": "certificate signed by unknown authority", "x": "ca has no certificate in PEM"} {
		_, err := fetch.NewHTTP(patient.Limit).Ask(t.Context(), fetch.Request{URL: s.URL, CA: ca})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("with %.30q: %v, want %s", ca, err, want)
		}
	}
}

func TestRootsAreTrustedUnlessTheRequestHasACA(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "one\n") }))
	t.Cleanup(s.Close)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	other := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate(t)}))
	secret := []fetch.Header{{Name: "Authorization", Value: "s3cret"}}
	source := fetch.NewHTTP(patient.Limit)
	for name, c := range map[string]struct {
		what  fetch.Request
		file  string // SSL_CERT_FILE
		fails bool
	}{
		"roots":              {what: fetch.Request{Roots: roots}},
		"roots and headers":  {what: fetch.Request{Roots: roots, Headers: secret}},
		"other roots":        {what: fetch.Request{Roots: x509.NewCertPool()}, fails: true},
		"a CA":               {what: fetch.Request{Roots: roots, CA: other}, fails: true},
		"certificates of us": {what: fetch.Request{Roots: roots}, file: "/does/not/exist", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SSL_CERT_FILE", c.file)
			t.Setenv("SSL_CERT_DIR", "")
			c.what.URL = s.URL
			_, err := source.Ask(t.Context(), c.what)
			if (err != nil) != c.fails || c.fails && !strings.Contains(err.Error(), "certificate signed by unknown authority") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The environment is read once in a process, and not for URLs of the machine itself.
func TestProxyOfTheEnvironmentIsUsed(t *testing.T) {
	const proxied = "FETTLE_TEST_PROXIED"
	if os.Getenv(proxied) != "" {
		_, err := fetch.NewHTTP(patient.Limit).Ask(t.Context(), fetch.Request{URL: "https://files.example/a", Roots: x509.NewCertPool()})
		t.Log(err)
		return
	}
	asked := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(proxy.Close)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), proxied+"=1", "HTTPS_PROXY="+proxy.URL, "NO_PROXY=")
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "cannot fetch https://files.example/a: Forbidden") {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := <-asked; got != "CONNECT files.example:443" {
		t.Errorf("the proxy was asked for %s", got)
	}
}

// certificate returns a self-signed certificate.
func certificate(t *testing.T) []byte {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
