// Package fetch brings content from elsewhere to those who only know their host.
//
// A provider takes a [Source] as a value and never dials by itself; who makes the
// providers decides what it is. Nothing is ever held as a whole, and what arrives is
// bounded in size and time.
package fetch

import (
	"context"
	"io"
	"time"
)

// A Source answers for URLs. It is safe for concurrent use.
type Source interface {
	// Ask tells what there is without bringing it. What the other side does not say
	// is zero. A URL that leads to nothing is an error for which
	// errors.Is(err, fs.ErrNotExist) holds.
	Ask(ctx context.Context, what Request) (Answer, error)
	// Get brings the content, as it arrives. The caller closes it. In place of its end
	// there is an error if the transfer breaks off, takes too long, exceeds the request's
	// MaxBytes, or brings something else than the other side announced.
	Get(ctx context.Context, what Request) (io.ReadCloser, error)
}

// A Request says what to bring, and how.
type Request struct {
	URL string
	// MaxBytes is the largest content to accept; 0 is DefaultMaxBytes.
	MaxBytes int64
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
