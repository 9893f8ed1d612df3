// Package image pulls and pushes the programs of external types as OCI artifacts.
package image

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/fettle-dev/fettle/internal/external/image/archive"
	"github.com/fettle-dev/fettle/internal/external/image/dockerconfig"
	"github.com/fettle-dev/fettle/internal/external/image/signature"
)

// Defaults of a Client.
const (
	DefaultSilence = time.Minute
	DefaultLimit   = 15 * time.Minute
)

// A Client pulls images. Its functions are called at each pull, so that a rotated credential counts at once. Safe for concurrent use.
type Client struct {
	// Credentials returns the configurations with credentials; the first one that has one for a repository counts.
	Credentials func() ([]dockerconfig.Config, error)
	// Roots returns the authorities that sign the certificates of registries; nil is the system's pool.
	Roots func() (*x509.CertPool, error)
	// Keys returns keys, one of which must have signed each image. A nil function checks no signature.
	Keys func() (signature.Keys, error)

	Silence time.Duration // how long a registry may send nothing
	Limit   time.Duration // of a whole pull
}

// Content is what was pulled.
type Content struct {
	Entries    []archive.Entry       `json:"entries"`
	Signatures []signature.Signature `json:"signatures,omitempty"` // empty if none were checked
}

// Limits of artifacts.
const (
	maxLayers     = 64
	maxCompressed = 256 << 20 // bytes of all layers
)

// Pull unpacks the image of a reference with a digest into an empty sink. An index resolves to the image of this process's
// platform. Nothing is unpacked before a signature is checked. Whatever was unpacked counts only if the error is nil.
// Errors contain no credential.
func (c *Client) Pull(ctx context.Context, ref string, to archive.Sink) (Content, error) {
	var content Content
	err := c.with(ctx, ref, func(s *session, digest name.Digest) (err error) {
		content, err = s.pull(digest, to)
		return err
	})
	return content, err
}

// Signatures returns the signatures of an image, one of which is valid; none if no keys are configured.
func (c *Client) Signatures(ctx context.Context, ref string) ([]signature.Signature, error) {
	if c.Keys == nil {
		return nil, nil
	}
	var all []signature.Signature
	err := c.with(ctx, ref, func(s *session, digest name.Digest) (err error) {
		all, err = s.signatures(digest)
		return err
	})
	return all, err
}

// with opens a session for a pull.
func (c *Client) with(ctx context.Context, ref string, pull func(*session, name.Digest) error) error {
	digest, err := name.NewDigest(ref, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("the image %q is not a reference with a digest: %w", ref, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.Limit, errSlow)
	defer cancel()
	s, err := c.open(ctx, digest.Repository)
	if err != nil {
		return fmt.Errorf("cannot pull %s: %w", ref, err)
	}
	if err := pull(s, digest); err != nil {
		return fmt.Errorf("cannot pull %s: %w", ref, s.transport.explain(causeOr(ctx, err)))
	}
	return nil
}

// A session is a pull from a repository.
type session struct {
	*Client
	ctx       context.Context //nolint:containedctx // of one pull
	transport *transport
	options   []remote.Option
}

func (c *Client) open(ctx context.Context, from name.Repository) (*session, error) {
	var roots *x509.CertPool
	var configs []dockerconfig.Config
	var err error
	if c.Roots != nil {
		roots, err = c.Roots()
	}
	if err == nil && c.Credentials != nil {
		configs, err = c.Credentials()
	}
	if err != nil {
		return nil, err
	}
	s := &session{Client: c, ctx: ctx, transport: newTransport(c.Silence, roots)}
	s.options = []remote.Option{
		remote.WithContext(ctx), remote.WithTransport(s.transport), remote.WithAuth(s.authenticator(configs, from)),
		remote.WithPlatform(v1.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}), remote.WithUserAgent("fettle"),
	}
	return s, nil
}

func (s *session) authenticator(configs []dockerconfig.Config, from name.Repository) authn.Authenticator {
	for _, c := range configs {
		if found, ok := c.For(from.RegistryStr(), from.RepositoryStr()); ok {
			s.transport.addSecrets(found.Username+":"+found.Password, found.Password, found.IdentityToken, found.RegistryToken)
			return authn.FromConfig(authn.AuthConfig{
				Username: found.Username, Password: found.Password, IdentityToken: found.IdentityToken, RegistryToken: found.RegistryToken,
			})
		}
	}
	return authn.Anonymous
}

func (s *session) pull(digest name.Digest, to archive.Sink) (Content, error) {
	var content Content
	found, err := remote.Get(digest, s.options...)
	if err == nil && s.Keys != nil {
		content.Signatures, err = s.signatures(digest)
	}
	if err != nil {
		return Content{}, err
	}
	img, err := found.Image()
	if err != nil {
		return Content{}, err
	}
	content.Entries, err = s.unpack(img, to)
	return content, err
}

// unpack unpacks all layers, and verifies their digests.
func (s *session) unpack(img v1.Image, to archive.Sink) ([]archive.Entry, error) {
	manifest, err := img.Manifest()
	if err == nil {
		err = check(manifest)
	}
	if err != nil {
		return nil, err
	}
	layers, err := img.Layers()
	if err != nil {
		return nil, err
	}
	u := archive.NewUnpacker(to)
	for _, l := range layers {
		if err := s.layer(u, l); err != nil {
			return nil, err
		}
	}
	return u.Finish()
}

// layer unpacks a layer. Its reader verifies the digest at the end.
func (s *session) layer(u *archive.Unpacker, l v1.Layer) error {
	r, err := l.Compressed()
	if err != nil {
		return err
	}
	err = u.Layer(s.ctx, r)
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	return errors.Join(err, r.Close())
}

// check returns an error unless the layers of a manifest can be unpacked.
func check(m *v1.Manifest) error {
	if len(m.Layers) == 0 || len(m.Layers) > maxLayers {
		return fmt.Errorf("it has %d layers: use 1 to %d", len(m.Layers), maxLayers)
	}
	left := int64(maxCompressed)
	for _, l := range m.Layers {
		if left -= l.Size; l.Size < 0 || left < 0 {
			return fmt.Errorf("its layers exceed %d MiB", maxCompressed>>20)
		}
		if !isArchive(l.MediaType) || len(l.URLs) > 0 {
			return fmt.Errorf("a layer has the media type %.80q: only tar archives in the registry are supported, also with gzip", l.MediaType)
		}
	}
	return nil
}

// isArchive reports whether a layer is a tar archive: of [Push], of other tools for artifacts, or of a container image.
func isArchive(t types.MediaType) bool {
	for _, suffix := range []string{"tar", "tar+gzip", "tar.gzip"} {
		if strings.HasSuffix(string(t), suffix) {
			return true
		}
	}
	return false
}
