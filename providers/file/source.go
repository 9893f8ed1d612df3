package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// An origin is what a source said when it was looked at: the sum that the content
// must have, or else when it was last changed. Zero where any content will do.
type origin struct {
	algorithm string
	sum       string
	modified  time.Time
	text      *string // of a small text on the host, to show the difference
	read      bool    // it is a content on the host, which was read
	size      int64   // of that, in bytes
	sha256    string  // of that
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
func (p posix) ask(ctx context.Context, h resource.Reader, want Attributes) (o origin, err error) {
	switch how := algorithm(want); {
	case want.ChecksumValue != nil:
		return origin{algorithm: how, sum: *want.ChecksumValue}, nil
	case how == sumNone:
		return origin{}, nil
	case isURL(*want.Source):
		o, err = p.askRemote(ctx, want)
	default:
		o, err = askHost(ctx, h, want, how)
	}
	return o, cannot("look at source", err)
}

func askHost(ctx context.Context, h host.Reader, want Attributes, how string) (origin, error) {
	source, err := lookupSource(h, want)
	if err != nil {
		return origin{}, err
	}
	defer source.Close()
	info := source.Info()
	switch {
	case !info.IsRegular():
		return origin{}, fmt.Errorf("%s is a %s, and only a file has content to copy", *want.Source, kindOf(info))
	case how == sumModified:
		return origin{modified: info.ModTime}, nil
	}
	c, err := readContent(ctx, source.Open, info.Size, how, "")
	return origin{algorithm: how, sum: c.sum, text: c.text, read: err == nil, size: c.size, sha256: c.sha256}, err
}

// lookupSource opens a source on the host. It follows symlinks, but for those by which a
// user could have root read something else, and refuses a hard link by which a user could.
func lookupSource(h host.Reader, want Attributes) (host.Handle, error) {
	if from := want.copied; from != nil {
		n, err := from.tree.Lookup(h, from.name)
		return onlyLink(n, err, func() (host.Handle, string, error) {
			dir, err := from.tree.Lookup(h, path.Dir(from.name))
			return dir, path.Base(from.name), err
		})
	}
	n, err := h.Lookup(*want.Source, sourceLinks(want))
	if refused := new(host.LinkError); errors.As(err, &refused) {
		return nil, allowable(err)
	}
	return onlyLink(n, err, func() (host.Handle, string, error) { return h.LookupParent(*want.Source, sourceLinks(want)) })
}

// looks is how often a file has to be found under its name: a link that is being removed is
// not counted any more, for a moment in which its name is still there.
const looks = 32

// onlyLink takes a file over that was opened, unless others can write to its directory and it
// has hard links elsewhere: it may be one that those can't read.
func onlyLink(n host.Handle, err error, parent func() (dir host.Handle, name string, err error)) (host.Handle, error) {
	if err != nil || !n.Info().IsRegular() {
		return n, err
	}
	dir, name, err := parent()
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	defer dir.Close()
	only, err := dir.OnlyRootWrites()
	for i := 0; i < looks && !only && err == nil; i++ {
		err = isOnlyLink(dir, name, n.Info())
	}
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func isOnlyLink(dir host.Handle, name string, was host.FileInfo) error {
	n, err := dir.Child(name)
	if errors.Is(err, fs.ErrNotExist) {
		return host.ErrChanged
	}
	if err != nil {
		return err
	}
	defer n.Close()
	switch is := n.Info(); {
	case was.Nlink != 1 || is.Nlink != 1:
		return &host.HardLinkError{Path: n.Path()}
	case !is.SameFile(was):
		return host.ErrChanged
	}
	return nil
}

func sourceLinks(want Attributes) host.Links {
	return host.Links{Follow: linksTo(want).Follow, AtEnd: true}
}

func openSource(h host.Reader, want Attributes) (io.ReadCloser, error) {
	source, err := lookupSource(h, want)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	return source.Open()
}

// askRemote compares by a sum that the server announces. Without one the content is read to
// be summed up, once for each version.
func (p posix) askRemote(ctx context.Context, want Attributes) (origin, error) {
	said, err := p.remote.Ask(ctx, request(want))
	if err != nil {
		return origin{}, err
	}
	how := want.Checksum
	for _, a := range []string{"sha256", "sha512", "sha1", "md5"} {
		if sum := said.Sums[a]; sum != "" && (how == nil || *how == a) {
			return origin{algorithm: a, sum: sum}, nil
		}
	}
	if algorithm(want) != sumModified {
		return p.sumRemote(ctx, want, said.Version)
	}
	if said.Modified.IsZero() {
		return origin{}, fmt.Errorf("%s has no Last-Modified: use another checksum, or give checksumValue", fetch.Shown(*want.Source))
	}
	return origin{modified: said.Modified}, nil
}

func (p posix) sumRemote(ctx context.Context, want Attributes, version string) (origin, error) {
	o := origin{algorithm: algorithm(want)}
	this := remembered{*want.Source, o.algorithm, version}
	if o.sum = p.seen.recall(this); o.sum != "" {
		return o, nil
	}
	body, err := p.remote.Get(ctx, request(want))
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

// maxPinned is the largest content, in bytes, to accept from elsewhere if its sum is given.
const maxPinned = 1 << 40

// request asks for the content of a File whose source is a URL.
func request(want Attributes) fetch.Request {
	r := fetch.Request{URL: *want.Source, Headers: want.headers}
	if want.CA != nil {
		r.CA = *want.CA
	}
	if want.ChecksumValue != nil {
		r.MaxBytes = maxPinned
	}
	return r
}

// sourced compares what was read of a file with what was read of its source.
func sourced(is Attributes) bool {
	switch o := is.found.origin; {
	case is.found.what != regular:
		return false
	case o.sum != "":
		return is.found.sum == o.sum
	default:
		return !is.found.info.ModTime.Before(o.modified)
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

// open begins to read the content that is to be written. It fails in place of its end when
// the content has another sum than it must have, or than its server announced.
func (w *write) open(ctx context.Context) (io.ReadCloser, error) {
	switch {
	case w.want.Content != nil:
		return io.NopCloser(strings.NewReader(*w.want.Content)), nil
	case w.want.Source == nil:
		return io.NopCloser(strings.NewReader("")), nil
	}
	chosen, err := w.choose(ctx, w.wide, w.want)
	if err != nil {
		return nil, err
	}
	w.want.Source = chosen.Source
	if !isURL(*w.want.Source) {
		body, err := openSource(w.wide, w.want)
		return w.prove(body), cannot("read source", err)
	}
	body, err := w.remote.Get(ctx, request(w.want))
	return w.prove(body), cannot("read source", err)
}

// prove holds a content against the sum that it must have. Of a file on the host that is
// only checksumValue: what was read of it before may be outdated.
func (w *write) prove(body io.ReadCloser) io.ReadCloser {
	announced := w.is.found.origin
	switch {
	case body == nil:
		return nil
	case w.want.ChecksumValue != nil:
		how := algorithm(w.want)
		return &proven{body, newDigest(how), *w.want.ChecksumValue, fmt.Sprintf("and checksumValue is {%s}%s", how, *w.want.ChecksumValue), how}
	case isURL(*w.want.Source) && announced.sum != "":
		return &proven{body, newDigest(announced.algorithm), announced.sum, fmt.Sprintf("and was to have {%s}%s", announced.algorithm, announced.sum), announced.algorithm}
	}
	return body
}

// A proven content is what it has to be.
type proven struct {
	io.ReadCloser
	digest    *digest
	sum       string
	instead   string // of what was sent
	algorithm string
}

func (p *proven) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	_, _ = p.digest.Write(b[:n]) // it cannot fail
	if errors.Is(err, io.EOF) && p.digest.sum() != p.sum {
		err = fmt.Errorf("the source has the checksum {%s}%s, %s: discarding what it sent", p.algorithm, p.digest.sum(), p.instead)
	}
	return n, err
}

// fromHost are the Files that a source on the host may be, which then come first.
func fromHost(want Attributes) []string {
	if want.Source == nil {
		return nil
	}
	all := want.Sources
	if len(all) == 0 {
		all = []string{*want.Source}
	}
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return isURL(s) || s == want.Path })
}
