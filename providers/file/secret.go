package file

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/internal/resource"
)

// addHeader copies the list, which is shared between copies of the attributes.
func addHeader(a *Attributes, name, value string) {
	a.headers = append(slices.Clip(a.headers), fetch.Header{Name: name, Value: value})
}

// recordSecrets records the secret content of files before it is first compared, so that
// content which was in sync from the beginning is recognized too.
func recordSecrets(ctx context.Context, h resource.Writer, wants []Attributes) error {
	all := map[string]string{}
	for _, want := range wants {
		if want.secret { // the content, and not merely a header
			all[want.Path] = *want.Content
		}
	}
	return cannot("record that the content is a secret", h.Bucket().RecordSecrets(ctx, all))
}

// hideSecret removes content that was once a secret from the shown state: the content of the file and,
// if it is copied from another file of the host, the content of the source. sum is the SHA-256 of the
// file's content. Content that is in sync with a manifest is no secret.
func hideSecret(h resource.Reader, is *Attributes, want Attributes, sum string) (err error) {
	if want.secret || want.contentSum != "" && is.found.sum == want.contentSum {
		return nil
	}
	is.found.secret, err = isSecret(h, is.Path, sum)
	if from := is.found.source; err == nil && !is.found.secret && from.File != nil {
		is.found.secret, err = isSecret(h, from.Location, from.File.SHA256)
	}
	if is.found.secret {
		is.Content = nil
		if is.found.source.File != nil {
			is.found.source.File.Text = nil
		}
	}
	return cannot("find out whether the content was a secret", err)
}

// isSecret also treats as a secret what this user may not look up.
func isSecret(h resource.Reader, path, sum string) (bool, error) {
	secret, err := h.IsSecret(path, sum)
	if errors.Is(err, fs.ErrPermission) {
		return true, nil
	}
	return secret, err
}

// findSecretSource finds out whether a file that is to be created will be a copy of a secret file of the host.
func findSecretSource(h resource.Reader, is *Attributes, want Attributes) (err error) {
	for _, from := range sourceOf(want).Paths() {
		if err == nil && !is.found.secret {
			is.found.secret, err = isSecret(h, from, "")
		}
	}
	return cannot("find out whether the source is a secret", err)
}

// hidePlanted hides the content of a file that has other names too, if a user may have made this one: the user need not be
// allowed to read it.
func (p posix) hidePlanted(h resource.Reader, is *Attributes, want Attributes) error {
	if is.found.info.Nlink < 2 || is.found.secret {
		return nil
	}
	dir, _, err := p.place(h, want).LookupParent(h)
	if err != nil {
		return cannot("look at directory", err)
	}
	defer dir.Close()
	only, err := dir.OnlyRootWrites()
	if err == nil && !only {
		is.found.secret, is.Content = true, nil
	}
	return cannot("look at directory", err)
}

// forgetSecret records that a file no longer contains a secret.
func (w *writer) forgetSecret(ctx context.Context) error {
	if w.want.secret || w.is.found.secret && w.is.found.source.File != nil {
		return nil
	}
	return cannot("record that the content is no secret", w.host.Bucket().ForgetPath(ctx, w.want.Path))
}
