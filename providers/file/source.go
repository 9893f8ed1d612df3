package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/internal/host"
)

// An origin is what a source said when it was looked at: the sum that the content
// must have, or else when it was last changed. Zero where any content will do.
type origin struct {
	algorithm string
	sum       string
	modified  time.Time
	text      *string // of a small text on the host, to show the difference
	sha256    string  // of a content on the host that was read
}

func isURL(source string) bool {
	return strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
}

// algorithm is how contents are compared.
func algorithm(want Attributes) string {
	if want.Source != nil && want.Checksum != nil {
		return *want.Checksum
	}
	return sumDefault
}

// ask finds out what the content has to be. Whoever knows its sum needs no source.
func (p posix) ask(ctx context.Context, h host.Reader, want Attributes) (o origin, err error) {
	switch how := algorithm(want); {
	case want.ChecksumValue != nil:
		return origin{algorithm: how, sum: *want.ChecksumValue}, nil
	case how == sumNone:
		return origin{}, nil
	case isURL(*want.Source):
		o, err = p.askRemote(ctx, *want.Source, want.Checksum)
	default:
		o, err = askHost(ctx, h, *want.Source, how)
	}
	return o, cannot("look at source", err)
}

func askHost(ctx context.Context, h host.Reader, source, how string) (origin, error) {
	info, err := h.Stat(source)
	switch {
	case err != nil:
		return origin{}, err
	case !info.IsRegular():
		return origin{}, fmt.Errorf("%s is a %s, and only a file has content to copy", source, kindOf(info))
	case how == sumModified:
		return origin{modified: info.ModTime}, nil
	}
	open := func() (io.ReadCloser, error) { return h.Open(source) }
	c, err := readContent(ctx, open, info.Size, how, "")
	return origin{algorithm: how, sum: c.sum, text: c.text, sha256: c.sha256}, err
}

// askRemote takes what the server says of its own accord. Only if that is nothing,
// the content is read to be summed up, once for each version.
func (p posix) askRemote(ctx context.Context, source string, how *string) (origin, error) {
	said, err := p.remote.Ask(ctx, source)
	if err != nil {
		return origin{}, err
	}
	if o := told(said, how); o != (origin{}) {
		return o, nil
	}
	if how != nil && *how == sumModified {
		return origin{}, fmt.Errorf("%s has no Last-Modified: use another checksum, or give checksumValue", fetch.Shown(source))
	}
	return p.sumRemote(ctx, source, how, said.Version)
}

// told is the sum that was asked for, else the best there is, else the time.
func told(said fetch.Answer, how *string) origin {
	for _, a := range []string{"sha256", "sha1", "md5"} {
		if sum := said.Sums[a]; sum != "" && (how == nil || *how == a) {
			return origin{algorithm: a, sum: sum}
		}
	}
	if how == nil || *how == sumModified {
		return origin{modified: said.Modified}
	}
	return origin{}
}

func (p posix) sumRemote(ctx context.Context, source string, how *string, version string) (origin, error) {
	o := origin{algorithm: sumDefault}
	if how != nil {
		o.algorithm = *how
	}
	this := remembered{source, o.algorithm, version}
	if o.sum = p.seen.recall(this); o.sum != "" {
		return o, nil
	}
	body, err := p.remote.Get(ctx, source)
	if err != nil {
		return origin{}, err
	}
	defer body.Close()
	d := newDigest(o.algorithm)
	if _, err = io.Copy(d, body); err != nil {
		return origin{}, err
	}
	o.sum = d.sum()
	p.seen.remember(this, o.sum)
	return o, nil
}

// sourced compares what was read of a file with what was read of its source.
func sourced(is Attributes) bool {
	switch o := is.found.origin; {
	case is.found.what != regular:
		return false
	case o.sum != "":
		return is.found.sum == o.sum
	default:
		return !is.found.modified.Before(o.modified)
	}
}

// show is the content that the source asks for.
func (o origin) show() string {
	if o.sum != "" {
		return "{" + o.algorithm + "}" + o.sum
	}
	return showTime(o.modified)
}

func showTime(t time.Time) string { return "{mtime}" + t.UTC().Format(time.RFC3339) }

// open begins to read the content that is to be written. With a checksumValue it
// fails in place of its end when the content has another.
func (p posix) open(ctx context.Context, h host.Reader, want Attributes) (io.ReadCloser, error) {
	switch {
	case want.Content != nil:
		return io.NopCloser(strings.NewReader(*want.Content)), nil
	case want.Source == nil:
		return io.NopCloser(strings.NewReader("")), nil
	}
	var body io.ReadCloser
	var err error
	if isURL(*want.Source) {
		body, err = p.remote.Get(ctx, *want.Source)
	} else {
		body, err = h.Open(*want.Source)
	}
	if err != nil || want.ChecksumValue == nil {
		return body, cannot("read source", err)
	}
	return &proven{ReadCloser: body, digest: newDigest(algorithm(want)), want: want}, nil
}

// A proven content is what it has to be.
type proven struct {
	io.ReadCloser
	digest *digest
	want   Attributes
}

func (p *proven) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	_, _ = p.digest.Write(b[:n]) // it cannot fail
	if errors.Is(err, io.EOF) && p.digest.sum() != *p.want.ChecksumValue {
		err = fmt.Errorf("the source has the checksum {%s}%s, and checksumValue is %s: discarding what it sent",
			algorithm(p.want), p.digest.sum(), *p.want.ChecksumValue)
	}
	return n, err
}

// fromHost is the File that a source on the host may be, which then comes first.
func fromHost(want Attributes) []string {
	if want.Source == nil || isURL(*want.Source) || *want.Source == want.Path {
		return nil
	}
	return []string{*want.Source}
}
