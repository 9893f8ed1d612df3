package fetch_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// echo responds to every request with a text in which %s is replaced by the request's Authorization header.
func echo(t *testing.T, answer string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.WriteString(conn, strings.ReplaceAll(answer, "%s", req.Header.Get("Authorization")))
			}
			_ = conn.Close()
		}
	}()
	return "http://" + l.Addr().String() + "/a"
}

// A server or proxy may repeat request headers in any part of its response.
func TestErrorsOmitHeadersEchoedByServer(t *testing.T) {
	t.Parallel()

	const omitted = "the server's answer is not valid (details omitted: they contain the value of header Authorization)"
	for answer, want := range map[string]string{
		"HTTP/1.1 403 no %s\r\n\r\nno %s":                    "the server responded with 403 Forbidden",
		"HTTP/1.1 404 no %s\r\n\r\n":                         "the server responded with 404 Not Found",
		"HTTP/1.1 799 no %s\r\n\r\n":                         "the server responded with 799",
		"%s\r\n\r\n":                                         omitted,
		"HTTP/1.1 %s\r\n\r\n":                                omitted,
		"HTTP/1.1 200 OK\r\n%s\r\n\r\n":                      omitted,
		"HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n":      omitted,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\n\r\n":   omitted,
		"HTTP/1.1 302 Found\r\nLocation: http://[%s\r\n\r\n": omitted,
		"HTTP/1.1 302 Found\r\nLocation: %s\r\n\r\n":         "",
		"HTTP/1.1 200 OK\r\nX-Checksum-Sha256: %s\r\nContent-Length: 9\r\n\r\nBearer %s":        "",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: %s\r\n\r\n%s\r\nBearer\r\n0": "",
	} {
		source, what := fetch.NewHTTP(patient.Limit), fetch.Request{URL: echo(t, answer), Headers: []fetch.Header{{Name: "Authorization", Value: "Bearer s3cret\tt0ken"}}}
		_, err := source.Ask(t.Context(), what)
		body, got := source.Get(t.Context(), what)
		if got == nil {
			_, got = io.Copy(io.Discard, body)
			_ = body.Close()
		}
		if said := fmt.Sprint(err, got); strings.Contains(said, "s3cret") || strings.Contains(said, "t0ken") {
			t.Errorf("%q: %s", answer, said)
		}
		if want != "" && (got == nil || got.Error() != "cannot fetch "+what.URL+": "+want) {
			t.Errorf("%q: %v, want %s", answer, got, want)
		}
		if errors.Is(got, fs.ErrNotExist) != strings.Contains(want, "404") {
			t.Errorf("%q: wrong distinction of fs.ErrNotExist: %v", answer, got)
		}
	}
}

// net/http logs data that a server sends on an idle connection, which may repeat secret headers.
func TestConnectionsWithSecretHeadersAreClosed(t *testing.T) {
	t.Parallel()

	var mu sync.Mutex
	var open []string
	mux := http.NewServeMux()
	mux.HandleFunc("/here", func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		open = append(open, fmt.Sprintf("%s %q %t", r.Method, r.Header.Get("Authorization"), !r.Close))
	})
	mux.Handle("/near", http.RedirectHandler("/here", http.StatusFound))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	source := fetch.NewHTTP(patient.Limit)
	for _, what := range []fetch.Request{
		{URL: s.URL + "/here", Headers: []fetch.Header{{Name: "Authorization", Value: "s3cret"}}},
		{URL: s.URL + "/near", Headers: []fetch.Header{{Name: "Authorization", Value: "s3cret"}}},
		{URL: s.URL + "/here"},
	} {
		_, err := source.Ask(t.Context(), what)
		body, got := source.Get(t.Context(), what)
		if err != nil || got != nil {
			t.Fatal(err, got)
		}
		_ = body.Close()
	}
	want := []string{`HEAD "s3cret" false`, `GET "s3cret" false`, `HEAD "s3cret" false`, `GET "s3cret" false`, `HEAD "" true`, `GET "" true`}
	if diff := cmp.Diff(want, open); diff != "" {
		t.Errorf("method, header, whether the connection stays open (-want +got):\n%s", diff)
	}
}
