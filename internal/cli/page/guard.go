package page

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// policy permits nothing that the page does not serve itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// A Guard lets only the user who started the page see it. Other users of the machine can reach its port, and so can other
// pages in the user's browser.
//
// The secret is a part of each path. A cookie would be sent to all ports of the machine, and so to servers of other users.
type Guard struct {
	// Token is the first part of each path.
	Token string
	// Port is the port of the listener, which listens on loopback.
	Port string
}

// NewGuard returns a guard with a new token.
func NewGuard(port string) Guard { return Guard{Token: rand.Text(), Port: port} }

// URL returns the address of the page.
func (g Guard) URL() string {
	return "http://" + net.JoinHostPort("127.0.0.1", g.Port) + g.Root() + "/"
}

// Root is the path below which the page is served, without the slash at its end.
func (g Guard) Root() string { return "/" + g.Token }

// Wrap guards a handler, which gets paths without Root.
func (g Guard) Wrap(h http.Handler) http.Handler {
	served := http.StripPrefix(g.Root(), h)
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
		if token, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); !g.knows(token) {
			http.Error(w, "open the address that the command printed: it has a token", http.StatusForbidden)
			return
		}
		served.ServeHTTP(w, r)
	})
}

func (g Guard) isHost(host string) bool {
	return host == net.JoinHostPort("127.0.0.1", g.Port) || host == net.JoinHostPort("localhost", g.Port)
}

func (g Guard) knows(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(g.Token)) == 1
}
