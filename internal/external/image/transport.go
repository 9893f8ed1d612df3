package image

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	registry "github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/fettle-dev/fettle/internal/fetch"
)

var (
	errSilent = errors.New("the registry stopped sending")
	errSlow   = errors.New("the pull takes too long")
	errMany   = errors.New("the registry sends too much")
)

// Sizes of answers, in bytes.
const (
	maxBlob   = maxCompressed
	maxAnswer = 4 << 20 // that is not a blob: a manifest, a token
)

// A transport uses TLS unless the registry is on this machine. It gives up on registries that send nothing for a while, or too much,
// and remembers the credentials that it sends, so that errors can be without them.
type transport struct {
	base    http.RoundTripper
	silence time.Duration

	mu     sync.Mutex
	hidden []string
}

func newTransport(silence time.Duration, roots *x509.CertPool) *transport {
	base := fetch.NewTransport(silence, roots)
	base.ResponseHeaderTimeout = 0 // see RoundTrip
	base.DisableKeepAlives = true  // net/http logs what a server sends on an idle connection, which may repeat a credential
	return &transport{base: base, silence: silence}
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, credential, ok := strings.Cut(req.Header.Get("Authorization"), " "); ok {
		t.addSecrets(credential)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	silent := time.AfterFunc(t.silence, func() { cancel(errSilent) })
	private := req.Clone(ctx)
	private.URL.Scheme = schemeFor(private.URL)
	res, err := t.base.RoundTrip(private)
	if err != nil {
		silent.Stop()
		err = causeOr(ctx, err)
		cancel(nil)
		return nil, err
	}
	b := &body{ReadCloser: res.Body, ctx: ctx, cancel: cancel, silent: silent, silence: t.silence, left: maxAnswer}
	if isBlob(req) {
		b.left = maxBlob
	}
	res.Body = b
	return res, nil
}

// schemeFor returns the scheme for a URL. The library for registries would also use plain http for private addresses.
func schemeFor(u *url.URL) string {
	if fetch.IsPrivate(u) {
		return u.Scheme
	}
	return "https"
}

// causeOr returns the cause of a context's end, or err if it has not ended.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// isBlob reports whether a request, or the one that was redirected to it, asks for a blob.
func isBlob(req *http.Request) bool {
	for req.Response != nil && req.Response.Request != nil {
		req = req.Response.Request
	}
	return strings.Contains(req.URL.Path, "/blobs/")
}

// A body is the content of a response. It is not safe for concurrent use.
type body struct {
	io.ReadCloser
	ctx     context.Context //nolint:containedctx // of the request
	cancel  context.CancelCauseFunc
	silent  *time.Timer
	silence time.Duration
	left    int64
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.silent.Reset(b.silence)
	if b.left -= int64(n); b.left < 0 {
		return 0, errMany
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = causeOr(b.ctx, err)
	}
	return n, err
}

func (b *body) Close() error {
	b.silent.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}

// shortest is the length of secrets that are searched for: anything shorter is in many texts.
const shortest = 4

// addSecrets adds secrets that no error may contain.
func (t *transport) addSecrets(secrets ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range secrets {
		for _, form := range []string{s, base64.StdEncoding.EncodeToString([]byte(s)), url.QueryEscape(s), strings.Trim(fmt.Sprintf("%q", s), `"`)} {
			if len(s) >= shortest && !slices.Contains(t.hidden, form) {
				t.hidden = append(t.hidden, form)
			}
		}
	}
}

// explain returns an error that does not contain what only the registry wrote, nor a credential.
func (t *transport) explain(err error) error {
	if answer, ok := errors.AsType[*registry.Error](err); ok {
		err = errors.New(status(answer))
	}
	if inner, ok := errors.AsType[*url.Error](err); ok { // it contains the whole URL
		err = fmt.Errorf("%s: %w", inner.URL, inner.Err)
		if u, parseErr := url.Parse(inner.URL); parseErr == nil {
			err = fmt.Errorf("%s: %w", u.Host, inner.Err)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	contains := func(secret string) bool { return strings.Contains(err.Error(), secret) }
	if slices.ContainsFunc(t.hidden, contains) {
		return errors.New("the registry's answer is not valid (details omitted: they contain a credential)")
	}
	if first, _, more := strings.Cut(err.Error(), "\n"); more {
		return errors.New(first)
	}
	return err
}

// status is the status of an answer, and what registries mean by it. Other text may repeat a credential.
func status(e *registry.Error) string {
	text := strings.TrimSpace(fmt.Sprintf("the registry responded with %d %s", e.StatusCode, http.StatusText(e.StatusCode)))
	switch e.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return text + ": check the credentials in --registry-config, and what they may read"
	case http.StatusNotFound:
		return text + ": check the reference, and whether the image was deleted"
	}
	return text
}
