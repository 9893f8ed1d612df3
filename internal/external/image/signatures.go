package image

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	registry "github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/fettle-dev/fettle/internal/external/image/signature"
)

// Limits of signatures.
const (
	maxSignatures = 32
	maxPayload    = 64 << 10 // bytes
)

// annotation of a layer in cosign's simple signing format: the signature of the layer, in base64.
const annotation = "dev.cosignproject.cosign/signature"

// signatures returns the signatures of an image, one of which is valid.
func (s *session) signatures(digest name.Digest) ([]signature.Signature, error) {
	keys, err := s.Keys()
	if err != nil {
		return nil, err
	}
	all, err := s.findSignatures(digest)
	if err != nil {
		return nil, fmt.Errorf("cannot read its signatures: %w", err)
	}
	return all, keys.Verify(digest.DigestStr(), all)
}

// findSignatures returns the signatures in the registry. They are the layers of an image with a tag that contains the
// digest.
func (s *session) findSignatures(digest name.Digest) ([]signature.Signature, error) {
	img, err := remote.Image(digest.Tag(strings.Replace(digest.DigestStr(), ":", "-", 1)+".sig"), s.options...)
	if answer, ok := errors.AsType[*registry.Error](err); ok && answer.StatusCode == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return readSignatures(img)
}

func readSignatures(img v1.Image) ([]signature.Signature, error) {
	manifest, err := img.Manifest()
	if err != nil {
		return nil, err
	}
	var all []signature.Signature
	for _, l := range manifest.Layers {
		signed, err := base64.StdEncoding.DecodeString(l.Annotations[annotation])
		if err != nil || len(signed) == 0 || l.Size > maxPayload || len(l.URLs) > 0 {
			continue // it is not a signature in this format
		}
		if len(all) == maxSignatures {
			return nil, fmt.Errorf("there are more than %d", maxSignatures)
		}
		payload, err := readBlob(img, l)
		if err != nil {
			return nil, err
		}
		all = append(all, signature.Signature{Payload: payload, Bytes: signed})
	}
	return all, nil
}

func readBlob(img v1.Image, l v1.Descriptor) ([]byte, error) {
	layer, err := img.LayerByDigest(l.Digest)
	if err != nil {
		return nil, err
	}
	r, err := layer.Compressed()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, maxPayload+1))
	return text, errors.Join(err, r.Close())
}
