// Package source reads the content of a File from where it comes from: a path on the host or
// a URL.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/internal/fetch/roots"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/providers/file/content"
	"github.com/fettle-dev/fettle/providers/file/entry"
)

// A Source is the origin of a content, and the way to compare it.
type Source struct {
	// Location is a path on the host or a URL. Alternatives are optional locations,
	// the first existing one of which becomes the location.
	Location     string
	Alternatives []string
	// Checksum is the algorithm, and ChecksumValue the sum that the content must have. Optional.
	Checksum, ChecksumValue *string
	// CA and Headers apply to the server of a URL. Optional.
	CA      *string
	Headers []fetch.Header
	// Follow says which symlinks on the way to a path are followed.
	Follow host.FollowLinks
	// Spot is the place where a recursion found the content, which is opened only there. Optional.
	Spot *entry.Spot
}

// IsURL reports whether a location is a URL.
func IsURL(location string) bool {
	return strings.HasPrefix(location, "http://") || strings.HasPrefix(location, "https://")
}

func (s Source) algorithm() string {
	if s.Checksum != nil {
		return *s.Checksum
	}
	return content.DefaultAlgorithm
}

// Paths returns the locations that are paths on the host.
func (s Source) Paths() (paths []string) {
	for _, location := range s.Locations() {
		if !IsURL(location) {
			paths = append(paths, location)
		}
	}
	return paths
}

// Locations returns the paths and URLs that the content may come from.
func (s Source) Locations() []string {
	switch {
	case len(s.Alternatives) > 0:
		return s.Alternatives
	case s.Location != "":
		return []string{s.Location}
	}
	return nil
}

// A Version is the state of a source when it was examined: the checksum that the content must have, or
// else when it was last changed. It is zero if any content will do.
type Version struct {
	// Location is the origin of the content; empty if ChecksumValue is sufficient.
	Location  string
	Algorithm string
	Sum       string
	Modified  time.Time
	// File is the content of a file on the host, if it was read.
	File *content.Content
}

// String returns the version as a File shows its content.
func (v Version) String() string {
	if v.Sum != "" {
		return "{" + v.Algorithm + "}" + v.Sum
	}
	return ShowTime(v.Modified)
}

// ShowTime returns a time as a File shows content that is compared by time.
func ShowTime(t time.Time) string { return "{mtime}" + t.UTC().Format(time.RFC3339) }

// A Reader reads sources. It is safe for concurrent use.
type Reader struct {
	remote fetch.Source
	sums   *sumCache
	roots  *roots.Cache
}

// NewReader returns a Reader that gets the contents of URLs from remote.
func NewReader(remote fetch.Source) Reader { return Reader{remote, new(sumCache), new(roots.Cache)} }

// Choose returns the source with the first of its alternatives that exists. If it can't be
// found out whether one exists that is an error: the next one would be another content.
func (r Reader) Choose(ctx context.Context, h host.Reader, s Source) (Source, error) {
	if len(s.Alternatives) == 0 {
		return s, nil
	}
	for _, location := range s.Alternatives {
		s.Location = location
		err := r.exists(ctx, h, s)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return s, cannotLook(err)
		}
	}
	return s, fmt.Errorf("none of the sources exists: %s", strings.Join(shown(s.Alternatives), ", "))
}

func (r Reader) exists(ctx context.Context, h host.Reader, s Source) (err error) {
	if IsURL(s.Location) {
		_, err = r.ask(ctx, h, s)
	} else {
		_, err = h.Stat(s.Location)
	}
	return err
}

// shown omits the parts of URLs that may be secret.
func shown(locations []string) []string {
	all := make([]string, len(locations))
	for i, s := range locations {
		if all[i] = s; IsURL(s) {
			all[i] = fetch.Shown(s)
		}
	}
	return all
}

// Look determines the desired version of the content. A source whose ChecksumValue is known is not
// contacted.
func (r Reader) Look(ctx context.Context, h host.Reader, s Source) (Version, error) {
	if s.ChecksumValue != nil {
		return Version{Algorithm: s.algorithm(), Sum: *s.ChecksumValue}, nil
	}
	s, err := r.Choose(ctx, h, s)
	if err != nil {
		return Version{}, err
	}
	v, err := r.look(ctx, h, s)
	v.Location = s.Location
	return v, cannotLook(err)
}

func (r Reader) look(ctx context.Context, h host.Reader, s Source) (Version, error) {
	switch {
	case s.algorithm() == content.ByNothing:
		return Version{}, nil
	case IsURL(s.Location):
		return r.lookRemote(ctx, h, s)
	}
	return lookLocal(ctx, h, s, s.algorithm())
}

// Open opens the content. The stream ends in an error instead of [io.EOF] if it has another
// checksum than it must have, or than its server announced.
func (r Reader) Open(ctx context.Context, h host.Reader, s Source, announced Version) (io.ReadCloser, error) {
	s, err := r.Choose(ctx, h, s)
	if err != nil {
		return nil, err
	}
	var body io.ReadCloser
	if IsURL(s.Location) {
		body, err = r.get(ctx, h, s)
	} else {
		body, err = openLocal(h, s)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read source: %w", err)
	}
	return s.verify(body, announced), nil
}

// verify holds a file on the host to ChecksumValue only: what was read of it before may be
// outdated.
func (s Source) verify(body io.ReadCloser, announced Version) io.ReadCloser {
	switch {
	case s.ChecksumValue != nil:
		return content.Verify(body, s.algorithm(), *s.ChecksumValue, fmt.Sprintf("and checksumValue is {%s}%s", s.algorithm(), *s.ChecksumValue))
	case IsURL(s.Location) && announced.Sum != "":
		return content.Verify(body, announced.Algorithm, announced.Sum, "but was announced with "+announced.String())
	}
	return body
}

func cannotLook(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot look at source: %w", err)
}
