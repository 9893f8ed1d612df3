package page

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
)

// policy permits nothing that the page does not serve itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// A Guard lets only the user who started the page see it. Other users of the machine can reach its port, and so can other
// pages in the user's browser.
type Guard struct {
	// Token is what the first request must have as a parameter. Later ones have it in a cookie.
	Token string
	// Port is that of the listener, which listens on loopback.
	Port string
}

// NewGuard returns a guard with a new token.
func NewGuard(port string) Guard { return Guard{Token: rand.Text(), Port: port} }

// URL returns the address of the page with the token.
func (g Guard) URL() string {
	return "http://" + net.JoinHostPort("127.0.0.1", g.Port) + "/?token=" + g.Token
}

// Wrap guards a handler.
func (g Guard) Wrap(h http.Handler) http.Handler {
	cookie := "fettle-" + g.Port // browsers send cookies of one port to all others
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-store")
		if !g.isHost(r.Host) { // another name for loopback: DNS rebinding
			http.Error(w, "this page is served at 127.0.0.1 only", http.StatusMisdirectedRequest)
			return
		}
		if g.knows(r.URL.Query().Get("token")) {
			http.SetCookie(w, &http.Cookie{Name: cookie, Value: g.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		if c, err := r.Cookie(cookie); err != nil || !g.knows(c.Value) {
			http.Error(w, "open the address that the command printed: it has a token", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func (g Guard) isHost(host string) bool {
	return host == net.JoinHostPort("127.0.0.1", g.Port) || host == net.JoinHostPort("localhost", g.Port)
}

func (g Guard) knows(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(g.Token)) == 1
}
