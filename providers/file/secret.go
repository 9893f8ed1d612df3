package file

import (
	"context"
	"slices"

	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/internal/resource"
)

// keepSecret gives a file content that nobody is to see.
func keepSecret(a *Attributes, content string) { a.Content, a.secret = &content, true }

// addHeader makes a list of its own, as attributes are copied.
func addHeader(a *Attributes, name, value string) {
	a.headers = append(slices.Clip(a.headers), fetch.Header{Name: name, Value: value})
}

// discreet reports whether content, or a part of it, must not be shown.
func discreet(a Attributes) bool { return a.secret || a.ShowDiff != nil && !*a.ShowDiff }

// recordSecrets records the content of files as secret before it is first compared, so
// that content is recognized which was in sync from the beginning.
func recordSecrets(ctx context.Context, h resource.Writer, wants []Attributes) error {
	all := map[string]string{}
	for _, want := range wants {
		if want.secret { // and not merely a header
			all[want.Path] = *want.Content
		}
	}
	return cannot("record that the content is a secret", h.Bucket().RecordSecrets(ctx, all))
}

// hideSecret keeps content that was once a secret from being shown: that of the file and,
// where it is copied from another file of the host, that of the source. sum is the SHA-256
// of the file's content. Content that is in sync with a manifest is the manifest's own.
func hideSecret(h resource.Reader, is *Attributes, want Attributes, sum string) (err error) {
	if want.secret || want.contentSum != "" && is.found.sum == want.contentSum {
		return nil
	}
	is.found.secret, err = h.IsSecret(is.Path, sum)
	if from := is.found.origin; err == nil && !is.found.secret && from.sha256 != "" {
		is.found.secret, err = h.IsSecret(*want.Source, from.sha256)
	}
	if is.found.secret {
		is.Content, is.found.origin.text = nil, nil
	}
	return cannot("find out whether the content was a secret", err)
}

// forgetSecret records that a file holds no secret any more.
func (w *write) forgetSecret(ctx context.Context) error {
	if w.want.secret || w.is.found.secret && w.is.found.origin.sha256 != "" {
		return nil
	}
	return cannot("record that the content is no secret", w.wide.Bucket().ForgetPath(ctx, w.want.Path))
}
