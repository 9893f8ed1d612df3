package fetch

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// HTTP is the Source of http and https. Proxies come from the environment. It gives
// up on a server that says nothing for a while, and never follows https to http.
type HTTP struct {
	client  *http.Client
	silence time.Duration
}

// Silence is how long a server may say nothing.
const Silence = time.Minute

// NewHTTP makes one whose servers may say nothing for that long.
func NewHTTP(silence time.Duration) *HTTP {
	return &HTTP{client: &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: silence, ResponseHeaderTimeout: silence, IdleConnTimeout: silence,
			DisableCompression: true, // sums are of what the server has
		},
		CheckRedirect: checkRedirect,
	}, silence: silence}
}

const maxRedirects = 10

func checkRedirect(next *http.Request, before []*http.Request) error {
	switch {
	case len(before) > maxRedirects:
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	case before[0].URL.Scheme == "https" && next.URL.Scheme != "https":
		return errors.New("it redirects from https to http, where anybody may change the content")
	}
	return nil
}

// Ask implements [Source]. Of a server that refuses to answer without the content only
// the beginning of its answer is read.
func (s *HTTP) Ask(ctx context.Context, from string) (Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, err := s.do(ctx, http.MethodHead, from)
	if err == nil && (res.StatusCode == http.StatusMethodNotAllowed || res.StatusCode == http.StatusNotImplemented) {
		_ = res.Body.Close() // it has none
		res, err = s.do(ctx, http.MethodGet, from)
	}
	if err != nil {
		return Answer{}, cannot(from, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return Answer{}, cannot(from, fmt.Errorf("the server answers %s", res.Status))
	}
	return answer(res.Header), nil
}

// Get implements [Source].
func (s *HTTP) Get(ctx context.Context, from string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	res, err := s.do(ctx, http.MethodGet, from)
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.Join(fmt.Errorf("the server answers %s", res.Status), res.Body.Close())
	}
	if err != nil {
		cancel(nil)
		return nil, cannot(from, err)
	}
	timer := time.AfterFunc(s.silence, func() { cancel(errSilent) })
	return &body{from: from, ctx: ctx, cancel: cancel, timer: timer, silence: s.silence, ReadCloser: res.Body}, nil
}

func (s *HTTP) do(ctx context.Context, method, from string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, from, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "*/*")
	req.Header.Set("User-Agent", "fettle")
	return s.client.Do(req)
}

// cannot names the URL without what may be a secret in it.
func cannot(from string, err error) error {
	if inner, ok := errors.AsType[*url.Error](err); ok { // it has the URL whole
		err = inner.Err
	}
	return fmt.Errorf("cannot fetch %s: %w", Shown(from), err)
}

// Shown is a URL for people: without its query, in which credentials may be.
func Shown(from string) string {
	u, err := url.Parse(from)
	if err != nil || u.Host == "" {
		return "a URL that cannot be read"
	}
	u.User, u.ForceQuery, u.RawQuery, u.Fragment, u.RawFragment = nil, false, "", "", ""
	return u.String()
}

// answer reads the headers that tell of the content.
func answer(h http.Header) Answer {
	a := Answer{Sums: map[string]string{}}
	for _, algorithm := range []string{"sha256", "sha1", "md5"} {
		if sum := strings.ToLower(h.Get("X-Checksum-" + algorithm)); isSum(algorithm, sum) {
			a.Sums[algorithm] = sum
		}
	}
	if raw, err := base64.StdEncoding.DecodeString(h.Get("Content-MD5")); err == nil && a.Sums["md5"] == "" && len(raw) == 16 {
		a.Sums["md5"] = hex.EncodeToString(raw)
	}
	if t, err := http.ParseTime(h.Get("Last-Modified")); err == nil {
		a.Modified = t
	}
	a.Version = version(h, a.Modified)
	return a
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

func isSum(algorithm, sum string) bool {
	raw, err := hex.DecodeString(sum)
	return err == nil && len(raw) == map[string]int{"sha256": 32, "sha1": 20, "md5": 16}[algorithm]
}

var errSilent = errors.New("the server says nothing more")

// A body is a content on its way. It is not for two readers.
type body struct {
	io.ReadCloser
	from    string
	ctx     context.Context // lives as long as the transfer
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	silence time.Duration
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.timer.Reset(b.silence)
	if err != nil && !errors.Is(err, io.EOF) {
		if cause := context.Cause(b.ctx); cause != nil {
			err = cause
		}
		err = cannot(b.from, err)
	}
	return n, err
}

func (b *body) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}
