package page_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/cli/page"
)

func TestOnlyTheUserWithTheTokenIsServed(t *testing.T) {
	t.Parallel()

	g := page.NewGuard("4711")
	served := g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	ask := func(url, host, cookie string) *http.Response {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		r.Host = host
		if cookie != "" {
			r.Header.Set("Cookie", cookie)
		}
		w := httptest.NewRecorder()
		served.ServeHTTP(w, r)
		return w.Result()
	}
	const here = "127.0.0.1:4711"
	first := ask("/?token="+g.Token, here, "")
	if first.StatusCode != http.StatusSeeOther || first.Header.Get("Location") != "/" {
		t.Errorf("the first request: status %d, to %q", first.StatusCode, first.Header.Get("Location"))
	}
	cookie := first.Header.Get("Set-Cookie")
	if !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") {
		t.Errorf("the cookie is %s", cookie)
	}
	known, _, _ := strings.Cut(cookie, ";")
	for name, c := range map[string]struct {
		url, host, cookie string
		want              int
	}{
		"with the cookie":           {"/nodes", here, known, http.StatusTeapot},
		"by its other name":         {"/nodes", "localhost:4711", known, http.StatusTeapot},
		"without a cookie":          {"/nodes", here, "", http.StatusForbidden},
		"with a wrong token":        {"/?token=x", here, "", http.StatusForbidden},
		"with a wrong cookie":       {"/", here, "fettle-4711=x", http.StatusForbidden},
		"of another port":           {"/", here, strings.Replace(known, "4711", "4712", 1), http.StatusForbidden},
		"by another name":           {"/nodes", "evil.example:4711", known, http.StatusMisdirectedRequest},
		"with the token, elsewhere": {"/?token=" + g.Token, "evil.example", "", http.StatusMisdirectedRequest},
	} {
		got := ask(c.url, c.host, c.cookie)
		if got.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d", name, got.StatusCode, c.want)
		}
		if !strings.HasPrefix(got.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: no policy", name)
		}
	}
	if other := page.NewGuard("4711"); other.Token == g.Token {
		t.Error("two tokens are the same")
	}
}
