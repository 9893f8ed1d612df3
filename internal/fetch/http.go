package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// HTTP is the Source of http and https. Proxies come from the environment. It gives up on
// a server that says nothing for a while or takes too long, and never follows a redirect to
// plain http where the request was safer.
type HTTP struct {
	client    *http.Client
	transport *http.Transport // the client's
	silence   time.Duration
	limit     time.Duration
}

// How long a server may take.
const (
	Silence = time.Minute // to say something more
	limit   = time.Hour   // for a whole content
)

// maxHeaderBytes is how long the header of an answer may be.
const maxHeaderBytes = 256 << 10

// NewHTTP makes one whose servers may say nothing for that long.
func NewHTTP(silence time.Duration) *HTTP {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: silence, ResponseHeaderTimeout: silence, IdleConnTimeout: silence,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true, // sums are of what the server has
	}
	return &HTTP{client: &http.Client{Transport: transport, CheckRedirect: checkRedirect}, transport: transport, silence: silence, limit: limit}
}

const maxRedirects = 10

func checkRedirect(next *http.Request, before []*http.Request) error {
	switch first := before[0].URL; {
	case len(before) > maxRedirects:
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	case IsPrivate(first) && !IsPrivate(next.URL):
		return errors.New("it redirects to plain http, where anybody on the way may read and change the content")
	case first.Scheme != next.URL.Scheme || first.Host != next.URL.Host:
		next.Header = ours()
	}
	return nil
}

// ours are the headers of every request.
func ours() http.Header {
	return http.Header{"Accept": {"*/*"}, "User-Agent": {"fettle"}}
}

// IsPrivate reports whether nobody on the way can read or change what a URL brings: it is
// an https URL, or one of this machine.
func IsPrivate(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Ask implements [Source]. Of a server that refuses to answer without the content only
// the beginning of its answer is read.
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

// refusal is why there is no content, nil if there is one.
func refusal(res *http.Response) error {
	switch res.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusNotFound, http.StatusGone:
		return &missingError{status(res)}
	}
	return fmt.Errorf("the server answers %s", status(res))
}

// status is the status in words of our own: those of the server may repeat what it was sent.
func status(res *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", res.StatusCode, http.StatusText(res.StatusCode)))
}

// A missingError says that a URL leads to nothing.
type missingError struct{ status string }

func (e *missingError) Error() string { return "the server answers " + e.status }

// Is has it be fs.ErrNotExist.
func (e *missingError) Is(target error) bool { return target == fs.ErrNotExist }

func (s *HTTP) do(ctx context.Context, method string, what Request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, what.URL, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header = ours()
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

// clientFor is the client for a request. One with certificates of its own is for that request
// alone, and so is the connection of one with headers: net/http logs what a server sends on
// an idle connection, which may be what it was sent.
func (s *HTTP) clientFor(what Request) (*http.Client, error) {
	if what.CA == "" && len(what.Headers) == 0 {
		return s.client, nil
	}
	transport := s.transport.Clone()
	transport.DisableKeepAlives = true
	if what.CA != "" {
		pool, err := ReadCA(what.CA)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport, CheckRedirect: checkRedirect}, nil
}

// cannot names the URL without what may be a secret in it. An error may quote what the server
// sent, which may be what it was sent.
func cannot(what Request, err error) error {
	if inner, ok := errors.AsType[*url.Error](err); ok { // it has the URL whole
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

// An omittedError keeps the words of an error that would reveal the value of a header.
type omittedError struct {
	err    error
	header string
}

// Error does not have the words.
func (e *omittedError) Error() string {
	return "the server's answer is not valid (details omitted: they contain the value of header " + e.header + ")"
}

// Unwrap tells what kind of error it is.
func (e *omittedError) Unwrap() error { return e.err }

// Shown is a URL for people: without its query, in which credentials may be.
func Shown(from string) string {
	u, err := url.Parse(from)
	if err != nil || u.Host == "" {
		return "a URL that cannot be read"
	}
	u.User, u.ForceQuery, u.RawQuery, u.Fragment, u.RawFragment = nil, false, "", "", ""
	return u.String()
}

// version is a strong validator: an ETag that is not weak or, as RFC 9110 has it, a
// Last-Modified that was over for a minute when the server answered, so that there can
// have been no second change within the second that it names.
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
