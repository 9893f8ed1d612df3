// Package fetch brings content from elsewhere to those who only know their host.
//
// A provider takes a [Source] as a value and never dials by itself; who makes the
// providers decides what it is. Nothing is ever held as a whole.
package fetch

import (
	"context"
	"io"
	"time"
)

// A Source answers for URLs. It is safe for concurrent use.
type Source interface {
	// Ask tells what there is without bringing it. What the other side does not say
	// is zero. A URL that leads to nothing is an error.
	Ask(ctx context.Context, url string) (Answer, error)
	// Get brings the content, as it arrives. The caller closes it. A transfer that
	// breaks off is an error in place of the end.
	Get(ctx context.Context, url string) (io.ReadCloser, error)
}

// An Answer is what is known of a content before it is here.
type Answer struct {
	// Sums in hexadecimal by algorithm: sha256, sha1, md5. Never of anything but the
	// whole content.
	Sums map[string]string
	// Modified is when the content last changed, by the other side's clock.
	Modified time.Time
	// Version is the same as long as the content is, byte for byte; "" where the other
	// side gives no such promise.
	Version string
}
