package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/internal/resource"
)

// choose gives a File that has several sources the first that exists. A source of which
// that can't be told is an error: the next one would be another content.
func (p posix) choose(ctx context.Context, h resource.Reader, want Attributes) (Attributes, error) {
	if len(want.Sources) == 0 {
		return want, nil
	}
	for _, s := range want.Sources {
		want.Source = &s
		err := p.exists(ctx, h, want)
		if err == nil {
			return want, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return want, cannot("look at source", err)
		}
	}
	return want, fmt.Errorf("none of the sources exists: %s", strings.Join(shownSources(want.Sources), ", "))
}

func (p posix) exists(ctx context.Context, h resource.Reader, want Attributes) (err error) {
	if isURL(*want.Source) {
		_, err = p.remote.Ask(ctx, request(want))
	} else {
		_, err = h.Stat(*want.Source)
	}
	return err
}

// shownSources are sources for people: a URL without what may be a secret in it.
func shownSources(all []string) []string {
	shown := make([]string, len(all))
	for i, s := range all {
		if shown[i] = s; isURL(s) {
			shown[i] = fetch.Shown(s)
		}
	}
	return shown
}
