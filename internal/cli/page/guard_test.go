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
	served := g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Path", r.URL.Path)
		w.WriteHeader(http.StatusTeapot)
	}))
	const here = "127.0.0.1:4711"
	for name, c := range map[string]struct {
		path, host string
		want       int
		served     string
	}{
		"the page":                   {g.Root() + "/", here, http.StatusTeapot, "/"},
		"a view of it":               {g.Root() + "/nodes/a%2Fb", here, http.StatusTeapot, "/nodes/a/b"},
		"by its other name":          {g.Root() + "/nodes", "localhost:4711", http.StatusTeapot, "/nodes"},
		"without a token":            {"/nodes", here, http.StatusForbidden, ""},
		"with a wrong token":         {"/" + strings.Repeat("A", len(g.Token)) + "/", here, http.StatusForbidden, ""},
		"with the token as a prefix": {g.Root() + "x/nodes", here, http.StatusForbidden, ""},
		"with the token elsewhere":   {"/nodes" + g.Root(), here, http.StatusForbidden, ""},
		"by another name":            {g.Root() + "/nodes", "evil.example:4711", http.StatusMisdirectedRequest, ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil)
		r.Host = c.host
		r.Header.Set("Cookie", "fettle-4711="+g.Token)
		w := httptest.NewRecorder()
		served.ServeHTTP(w, r)
		got := w.Result()
		if got.StatusCode != c.want || got.Header.Get("Path") != c.served {
			t.Errorf("%s: status %d of %q, want %d of %q", name, got.StatusCode, got.Header.Get("Path"), c.want, c.served)
		}
		if !strings.HasPrefix(got.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: no policy", name)
		}
		if cookies := got.Header.Values("Set-Cookie"); len(cookies) > 0 {
			t.Errorf("%s: cookies, which browsers send to other users' ports, too: %q", name, cookies)
		}
	}
	if other := page.NewGuard("4711"); other.Token == g.Token {
		t.Error("two tokens are the same")
	}
}
