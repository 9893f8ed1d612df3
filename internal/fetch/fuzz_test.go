package fetch_test

import (
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/fetch"
)

// Parsed sums are valid and canonical. Displayed URLs contain no credentials.
func FuzzAnswer(f *testing.F) {
	f.Add("27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a", "XUFAKrxLKna5cZ2REBfFkg==", "Mon, 02 Jan 2006 15:04:05 GMT", "http://ann:s3cret@host/a?token=s3cret#s3cret")
	f.Add("27DD", "====", "yesterday", "http://[::1]:x/%zz?s3cret")
	f.Add(strings.Repeat("g", 64), "", "", "//s3cret@/")
	f.Add("", "", "", "?")
	f.Add("0", "0", "0", "//@//")
	f.Fuzz(func(t *testing.T, sum, md5, modified, from string) {
		h := http.Header{}
		h.Set("X-Checksum-Sha256", sum)
		h.Set("X-Checksum-Sha1", sum)
		h.Set("X-Checksum-Md5", sum)
		h.Set("Content-Md5", md5)
		h.Set("Last-Modified", modified)
		a := fetch.Headers(h)
		for algorithm, got := range a.Sums {
			raw, err := hex.DecodeString(got)
			if err != nil || got != strings.ToLower(got) || len(raw) != map[string]int{"sha256": 32, "sha1": 20, "md5": 16}[algorithm] {
				t.Errorf("the %s is %q", algorithm, got)
			}
		}
		shown := fetch.Shown(from)
		if shown == "an invalid URL" {
			return
		}
		if again := fetch.Shown(shown); again != shown {
			t.Errorf("%q is shown as %q, and that as %q", from, shown, again)
		}
		if strings.Contains(shown, "?") || strings.Contains(shown, "#") {
			t.Errorf("%q is shown as %q", from, shown)
		}
	})
}

// Ask gets checksums with a HEAD request, without downloading the content.
func BenchmarkAsk(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Md5", "XUFAKrxLKna5cZ2REBfFkg==")
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
	}))
	defer server.Close()
	source := fetch.NewHTTP(fetch.Silence)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := source.Ask(b.Context(), fetch.Request{URL: server.URL}); err != nil {
			b.Fatal(err)
		}
	}
}
