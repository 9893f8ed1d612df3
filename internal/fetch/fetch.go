// Package fetch downloads content for providers, which otherwise see only their host.
//
// A provider takes a [Source] as a value and never opens connections by itself; the registry decides
// which source it gets. Contents are streamed, and bounded in size and time.
package fetch

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Source provides the contents of URLs. It is safe for concurrent use.
type Source interface {
	// Ask describes a content without downloading it. Fields that the server does not send
	// are zero. A URL without content is fs.ErrNotExist.
	Ask(ctx context.Context, what Request) (Answer, error)
	// Get streams a content. The caller closes it. Instead of io.EOF it
	// returns an error if the transfer is interrupted, takes too long, exceeds the request's
	// MaxBytes, or does not match the announced checksums.
	Get(ctx context.Context, what Request) (io.ReadCloser, error)
}

// A Request describes a download.
type Request struct {
	URL string
	// MaxBytes is the largest content to accept; 0 is DefaultMaxBytes.
	MaxBytes int64
	// Headers to send, which may be secret. They are sent only to the server of URL, not to
	// others that it redirects to.
	Headers []Header
	// CA are the only certificates, in PEM, that may sign the server's; "" stands for Roots.
	CA string
	// Roots are those that the host trusts. nil stands for those of the system that this process runs on, and so does
	// any other value if SSL_CERT_FILE or SSL_CERT_DIR is in the environment, which selects certificates.
	Roots *x509.CertPool
}

// A Header is one header of a request. Printing it redacts the value.
type Header struct{ Name, Value string }

// Format redacts the value, whatever the verb.
func (h Header) Format(to fmt.State, _ rune) {
	_, _ = to.Write([]byte(h.Name + ": [redacted]")) // fmt ignores errors too
}

// quotedIn reports whether a text has the value or one of its words, plain or quoted as in Go.
func (h Header) quotedIn(text string) bool {
	const shortest = 4 // anything shorter is in many texts
	return slices.ContainsFunc(append(strings.Fields(h.Value), h.Value), func(word string) bool {
		quoted := strings.Trim(strconv.Quote(word), `"`)
		return len(word) >= shortest && (strings.Contains(text, word) || strings.Contains(text, quoted))
	})
}

// Problem returns why a header can't be sent. The error does not contain its value.
func (h Header) Problem() error {
	switch {
	case h.Name == "" || strings.ContainsFunc(h.Name, func(r rune) bool { return !strings.ContainsRune(nameRunes, r) }):
		return fmt.Errorf("invalid header name %q: use letters, digits, - and _, as in Authorization", h.Name)
	case slices.Contains(own, strings.ToLower(h.Name)):
		return fmt.Errorf("header %s is set by the HTTP client: remove it", h.Name)
	case strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return fmt.Errorf("the value of header %s has a line break or another control character: remove it from the Secret", h.Name)
	}
	return nil
}

// nameRunes are the characters of header names.
const nameRunes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// own are the headers that a request may not set.
var own = []string{
	"accept", "accept-encoding", "connection", "content-length", "expect", "host", "range", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
}

// ReadCA parses certificates in PEM.
func ReadCA(pem string) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(pem)) {
		return nil, errors.New("ca has no certificate in PEM: each begins with -----BEGIN CERTIFICATE-----, as printed by openssl x509")
	}
	return pool, nil
}

// DefaultMaxBytes is the largest content that a request accepts by default.
const DefaultMaxBytes = 1 << 30

// An Answer describes a content before it is downloaded.
type Answer struct {
	// Sums of the whole content, in hexadecimal by algorithm: sha512, sha256, sha1, md5.
	Sums map[string]string
	// Modified is when the content last changed, by the server's clock.
	Modified time.Time
	// Version changes whenever a byte of the content does; "" if the server does not
	// guarantee that.
	Version string
}
