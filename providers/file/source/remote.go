package source

import (
	"context"
	"fmt"
	"io"

	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/providers/file/content"
)

// lookRemote compares by a checksum that the server announces. Without one, the content is
// read to compute it, once for each version.
func (r Reader) lookRemote(ctx context.Context, h host.Reader, s Source) (Version, error) {
	answer, err := r.ask(ctx, h, s)
	if err != nil {
		return Version{}, err
	}
	for _, a := range []string{"sha256", "sha512", "sha1", "md5"} {
		if sum := answer.Sums[a]; sum != "" && (s.Checksum == nil || *s.Checksum == a) {
			return Version{Algorithm: a, Sum: sum}, nil
		}
	}
	if s.algorithm() != content.ByTime {
		return r.sumRemote(ctx, h, s, answer.Version)
	}
	if answer.Modified.IsZero() {
		return Version{}, fmt.Errorf("%s has no Last-Modified: use another checksum, or set checksumValue", fetch.Shown(s.Location))
	}
	return Version{Modified: answer.Modified}, nil
}

func (r Reader) sumRemote(ctx context.Context, h host.Reader, s Source, version string) (Version, error) {
	v := Version{Algorithm: s.algorithm()}
	key := sumKey{s.Location, v.Algorithm, version}
	if v.Sum = r.sums.get(key); v.Sum != "" {
		return v, nil
	}
	body, err := r.get(ctx, h, s)
	if err != nil {
		return Version{}, err
	}
	defer body.Close()
	d := content.NewDigest(v.Algorithm)
	if _, err = io.Copy(d, body); err != nil {
		return Version{}, err
	}
	v.Sum = d.Sum()
	r.sums.put(key, v.Sum)
	return v, nil
}

// maxVerified is the largest content, in bytes, to accept from a server if its checksum is
// known.
const maxVerified = 1 << 40

func (r Reader) ask(ctx context.Context, h host.Reader, s Source) (fetch.Answer, error) {
	what, err := r.request(h, s)
	if err != nil {
		return fetch.Answer{}, err
	}
	return r.remote.Ask(ctx, what)
}

func (r Reader) get(ctx context.Context, h host.Reader, s Source) (io.ReadCloser, error) {
	what, err := r.request(h, s)
	if err != nil {
		return nil, err
	}
	return r.remote.Get(ctx, what)
}

func (r Reader) request(h host.Reader, s Source) (what fetch.Request, err error) {
	what = fetch.Request{URL: s.Location, Headers: s.Headers}
	if s.ChecksumValue != nil {
		what.MaxBytes = maxVerified
	}
	if s.CA != nil {
		what.CA = *s.CA
	} else {
		what.Roots, err = r.roots.Of(h)
	}
	return what, err
}
