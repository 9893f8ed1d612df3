package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// HTTP is the Source of http and https URLs. Proxies come from the environment. It stops waiting for
// a server that sends nothing for a while or takes too long, and never follows a redirect from
// https to plain http.
type HTTP struct {
	transport *http.Transport
	rooted    *rooted
	silence   time.Duration
	limit     time.Duration
}

// rooted is the client for the last Roots, so that its connections are reused. It is safe for concurrent use.
type rooted struct {
	mu        sync.Mutex
	roots     *x509.CertPool
	transport *http.Transport
}

// with returns the transport for roots. The one for earlier roots closes its connections.
func (r *rooted) with(roots *x509.CertPool, base *http.Transport) *http.Transport {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.roots != roots {
		if r.transport != nil {
			r.transport.CloseIdleConnections()
		}
		r.roots, r.transport = roots, base.Clone()
		r.transport.TLSClientConfig = tlsConfig(roots)
	}
	return r.transport
}

func tlsConfig(roots *x509.CertPool) *tls.Config {
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// How long a server may take.
const (
	Silence = time.Minute // to send more
	limit   = time.Hour   // for a whole content
)

// maxHeaderBytes limits the headers of a response.
const maxHeaderBytes = 256 << 10

// NewHTTP returns a source that stops waiting for servers that send nothing for the given time.
func NewHTTP(silence time.Duration) *HTTP {
	return &HTTP{transport: NewTransport(silence, nil), rooted: new(rooted), silence: silence, limit: limit}
}

// NewTransport returns a transport like that of [HTTP]: proxies come from the environment, and the headers of a response within
// the given time. roots are those of a [Request].
func NewTransport(silence time.Duration, roots *x509.CertPool) *http.Transport {
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: silence, ResponseHeaderTimeout: silence, IdleConnTimeout: silence,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true, // checksums are of what the server sends
	}
	if selects(roots) {
		t.TLSClientConfig = tlsConfig(roots)
	}
	return t
}

// selects reports whether roots count, rather than those of the system or the environment.
func selects(roots *x509.CertPool) bool {
	return roots != nil && os.Getenv("SSL_CERT_FILE") == "" && os.Getenv("SSL_CERT_DIR") == ""
}

const maxRedirects = 10

func checkRedirect(next *http.Request, before []*http.Request) error {
	switch first := before[0].URL; {
	case len(before) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case IsPrivate(first) && !IsPrivate(next.URL):
		return errors.New("it redirects to plain http, where anybody on the network path can read and change the content")
	case first.Scheme != next.URL.Scheme || first.Host != next.URL.Host:
		next.Header = defaultHeaders()
	}
	return nil
}

// defaultHeaders are sent with every request.
func defaultHeaders() http.Header {
	return http.Header{"Accept": {"*/*"}, "User-Agent": {"fettle"}}
}

// IsPrivate reports whether nobody on the network path can read or change the content of a URL: it is
// an https URL, or one of this machine.
func IsPrivate(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Ask implements [Source]. If a server rejects HEAD, it sends a GET and reads only the
// headers.
func (s *HTTP) Ask(ctx context.Context, what Request) (Answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.silence, errSilent)
	defer cancel()
	res, err := s.do(ctx, http.MethodHead, what)
	if err == nil && (res.StatusCode == http.StatusMethodNotAllowed || res.StatusCode == http.StatusNotImplemented) {
		_ = res.Body.Close() // it has none
		res, err = s.do(ctx, http.MethodGet, what)
	}
	if err == nil {
		defer res.Body.Close()
		err = refusal(res)
	}
	if err != nil {
		return Answer{}, cannot(what, err)
	}
	return answer(res.Header), nil
}

// Get implements [Source].
func (s *HTTP) Get(ctx context.Context, what Request) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	res, err := s.do(ctx, http.MethodGet, what)
	if err == nil {
		if err = refusal(res); err != nil {
			err = errors.Join(err, res.Body.Close())
		}
	}
	if err != nil {
		cancel(nil)
		return nil, cannot(what, err)
	}
	return newBody(ctx, cancel, s, what, res), nil
}

// refusal returns an error unless the response has the content.
func refusal(res *http.Response) error {
	switch res.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusNotFound, http.StatusGone:
		return &missingError{status(res)}
	}
	return fmt.Errorf("the server responded with %s", status(res))
}

// status is the status with the standard text: the server's own may repeat a secret header.
func status(res *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", res.StatusCode, http.StatusText(res.StatusCode)))
}

// A missingError means that a URL has no content.
type missingError struct{ status string }

func (e *missingError) Error() string { return "the server responded with " + e.status }

// Is makes it fs.ErrNotExist.
func (e *missingError) Is(target error) bool { return target == fs.ErrNotExist }

func (s *HTTP) do(ctx context.Context, method string, what Request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, what.URL, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header = defaultHeaders()
	for _, h := range what.Headers {
		if err := h.Problem(); err != nil {
			return nil, err
		}
		req.Header.Set(h.Name, h.Value)
	}
	client, err := s.clientFor(what)
	if err != nil {
		return nil, err
	}
	return client.Do(req)
}

// clientFor returns the client for a request. A request with a CA or headers gets its own client, whose
// connection is not reused: net/http logs what a server sends on an idle connection, and that may
// repeat a secret header.
func (s *HTTP) clientFor(what Request) (*http.Client, error) {
	base := s.transport
	if selects(what.Roots) {
		base = s.rooted.with(what.Roots, s.transport)
	}
	if what.CA == "" && len(what.Headers) == 0 {
		return &http.Client{Transport: base, CheckRedirect: checkRedirect}, nil
	}
	transport := base.Clone()
	transport.DisableKeepAlives = true
	if what.CA != "" {
		pool, err := ReadCA(what.CA)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = tlsConfig(pool)
	}
	return &http.Client{Transport: transport, CheckRedirect: checkRedirect}, nil
}

// cannot adds the URL without its secrets to an error, and redacts an error that repeats a secret
// header.
func cannot(what Request, err error) error {
	if inner, ok := errors.AsType[*url.Error](err); ok { // it contains the whole URL
		err = inner.Err
	}
	for _, h := range what.Headers {
		if h.quotedIn(err.Error()) {
			err = &omittedError{err, h.Name}
			break
		}
	}
	return fmt.Errorf("cannot fetch %s: %w", Shown(what.URL), err)
}

// An omittedError hides the text of an error that contains the value of a header.
type omittedError struct {
	err    error
	header string
}

// Error omits the text.
func (e *omittedError) Error() string {
	return "the server's answer is not valid (details omitted: they contain the value of header " + e.header + ")"
}

// Unwrap returns the error.
func (e *omittedError) Unwrap() error { return e.err }

// Shown returns a URL for messages: without its query, which may contain credentials.
func Shown(from string) string {
	u, err := url.Parse(from)
	if err != nil || u.Host == "" {
		return "an invalid URL"
	}
	u.User, u.ForceQuery, u.RawQuery, u.Fragment, u.RawFragment = nil, false, "", "", ""
	return u.String()
}

// version returns a strong validator: an ETag that is not weak or, as in RFC 9110, a
// Last-Modified at least a minute before the Date, so that the content can't have changed twice
// within the same second.
func version(h http.Header, modified time.Time) string {
	if tag := h.Get("ETag"); strings.HasPrefix(tag, `"`) {
		return "ETag " + tag
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil || modified.IsZero() || now.Sub(modified) < time.Minute {
		return ""
	}
	return "Last-Modified " + modified.UTC().Format(time.RFC3339)
}
