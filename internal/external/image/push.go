package image

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/fettle-dev/fettle/internal/external/image/archive"
	"github.com/fettle-dev/fettle/internal/external/image/signature"
)

// Media types of an artifact, named as other tools name tar archives in registries.
const (
	configType  types.MediaType = "application/vnd.fettle.type.config.v1+json"
	contentType types.MediaType = "application/vnd.fettle.type.content.v1.tar+gzip"
)

// A Platform is an operating system and an architecture, in Go's words: linux/amd64. The zero value stands for any.
type Platform struct{ OS, Architecture string }

// String is as in linux/amd64.
func (p Platform) String() string { return p.OS + "/" + p.Architecture }

// Push packs files as an artifact with one layer, pushes it to a reference with a tag, and returns the same reference with a
// digest. The same files always have the same digest. With several platforms, it is the digest of an index. Credentials come
// from the user's docker configuration, also by its credential helpers.
func Push(ctx context.Context, to string, files map[Platform][]archive.Source) (string, error) {
	tag, err := name.NewTag(to, name.StrictValidation)
	if err != nil {
		return "", fmt.Errorf("%q is not a reference with a tag, such as registry.example.com/types/note:0.1.0: %w", to, err)
	}
	artifact, err := build(files)
	if err != nil {
		return "", err
	}
	t := newTransport(DefaultLimit, nil) // a layer is sent before its answer begins
	options := []remote.Option{remote.WithContext(ctx), remote.WithTransport(t), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithUserAgent("fettle")}
	if err := remote.Push(tag, artifact, options...); err != nil {
		return "", fmt.Errorf("cannot push %s: %w", to, t.explain(err))
	}
	digest, err := artifact.Digest()
	return fmt.Sprintf("%s@%s", tag, digest), err
}

// An artifact is an image or an index.
type artifact interface {
	remote.Taggable
	Digest() (v1.Hash, error)
}

func build(files map[Platform][]archive.Source) (artifact, error) {
	if portable, ok := files[Platform{}]; ok && len(files) == 1 {
		return buildImage(portable)
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range slices.SortedFunc(maps.Keys(files), func(a, b Platform) int { return cmp.Compare(a.String(), b.String()) }) {
		img, err := buildImage(files[p])
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.OS, Architecture: p.Architecture}},
		})
	}
	return index, nil
}

func buildImage(files []archive.Source) (v1.Image, error) {
	var packed bytes.Buffer
	if err := archive.Pack(&packed, files); err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), configType)
	return mutate.AppendLayers(img, static.NewLayer(packed.Bytes(), contentType))
}

// Local pulls files that were not pushed, whatever the reference is.
type Local []archive.Source

// Pull unpacks the files as if they had been pushed.
func (l Local) Pull(ctx context.Context, _ string, to archive.Sink) (Content, error) {
	var packed bytes.Buffer
	if err := archive.Pack(&packed, l); err != nil {
		return Content{}, err
	}
	u := archive.NewUnpacker(to)
	if err := u.Layer(ctx, &packed); err != nil {
		return Content{}, err
	}
	entries, err := u.Finish()
	return Content{Entries: entries}, err
}

// Signatures returns none.
func (Local) Signatures(context.Context, string) ([]signature.Signature, error) { return nil, nil }
