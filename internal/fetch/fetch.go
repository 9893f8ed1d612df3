// Package fetch brings content from elsewhere to those who only know their host.
//
// A provider takes a [Source] as a value and never dials by itself; who makes the
// providers decides what it is. Nothing is ever held as a whole, and what arrives is
// bounded in size and time.
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

// A Source answers for URLs. It is safe for concurrent use.
type Source interface {
	// Ask tells what there is without bringing it. What the other side does not say
	// is zero. A URL that leads to nothing is an error for which
	// errors.Is(err, fs.ErrNotExist) holds.
	Ask(ctx context.Context, what Request) (Answer, error)
	// Get brings the content, as it arrives. The caller closes it. Instead of its end
	// there is an error if the transfer breaks off, takes too long, exceeds the request's
	// MaxBytes, or brings something else than the other side announced.
	Get(ctx context.Context, what Request) (io.ReadCloser, error)
}

// A Request says what to bring, and how.
type Request struct {
	URL string
	// MaxBytes is the largest content to accept; 0 is DefaultMaxBytes.
	MaxBytes int64
	// Headers to send, which may be secret. They are sent to the server of URL alone, not to
	// others that it redirects to.
	Headers []Header
	// CA are the certificates, in PEM, that alone may sign the server's; "" is those of the
	// system.
	CA string
}

// A Header is one line of the header of a request. It prints as a mark.
type Header struct{ Name, Value string }

// Format writes a mark instead of the value, whatever the verb.
func (h Header) Format(to fmt.State, _ rune) {
	_, _ = to.Write([]byte(h.Name + ": [redacted]")) // as all that is formatted
}

// quotedIn reports whether a text has the value, or one of its words, as it is or quoted as in Go.
func (h Header) quotedIn(text string) bool {
	const shortest = 4 // anything shorter is in many a text
	return slices.ContainsFunc(append(strings.Fields(h.Value), h.Value), func(word string) bool {
		quoted := strings.Trim(strconv.Quote(word), `"`)
		return len(word) >= shortest && (strings.Contains(text, word) || strings.Contains(text, quoted))
	})
}

// Problem is why a header can't be sent, nil if it can. The error does not show its value.
func (h Header) Problem() error {
	switch {
	case h.Name == "" || strings.ContainsFunc(h.Name, func(r rune) bool { return !strings.ContainsRune(nameRunes, r) }):
		return fmt.Errorf("%q is no name of a header: write it as Authorization", h.Name)
	case slices.Contains(own, strings.ToLower(h.Name)):
		return fmt.Errorf("header %s is the connection's own: leave it out", h.Name)
	case strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return fmt.Errorf("the value of header %s has a line break or another control character: remove it from the Secret", h.Name)
	}
	return nil
}

// nameRunes are what the name of a header may have.
const nameRunes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// own are the headers that no request may choose.
var own = []string{
	"accept", "accept-encoding", "connection", "content-length", "expect", "host", "range", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
}

// ReadCA reads certificates in PEM.
func ReadCA(pem string) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(pem)) {
		return nil, errors.New("ca has no certificate in PEM: begin each with -----BEGIN CERTIFICATE-----, as openssl x509 prints it")
	}
	return pool, nil
}

// DefaultMaxBytes is the largest content that a request accepts by default.
const DefaultMaxBytes = 1 << 30

// An Answer is what is known of a content before it is here.
type Answer struct {
	// Sums in hexadecimal by algorithm: sha512, sha256, sha1, md5. Never of anything but the
	// whole content.
	Sums map[string]string
	// Modified is when the content last changed, by the other side's clock.
	Modified time.Time
	// Version is the same as long as the content is, byte for byte; "" where the other
	// side gives no such promise.
	Version string
}
