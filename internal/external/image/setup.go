package image

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/fettle-dev/fettle/internal/external/image/dockerconfig"
	"github.com/fettle-dev/fettle/internal/external/image/signature"
	"github.com/fettle-dev/fettle/internal/fetch/roots"
	"github.com/fettle-dev/fettle/internal/host"
)

// DefaultConfig is where the credentials of registries are, unless a flag says otherwise.
const DefaultConfig = "/etc/fettle/registry/config.json"

// kubeletConfig is where nodes may have credentials, too.
const kubeletConfig = "/var/lib/kubelet/config.json"

// A Setup is how a program pulls images for a host. Paths are paths of this process.
type Setup struct {
	Config string // a config.json of docker; "" is DefaultConfig. Only one that is DefaultConfig may be missing.
	Keys   string // public keys for signatures, a file or a directory; "" checks no signatures
}

// Client returns a client that also knows what a host has: its config.json, its kubelet's config.json, and the authorities that it trusts.
func (s Setup) Client(h host.Reader) *Client {
	var cache roots.Cache
	c := &Client{
		Credentials: func() ([]dockerconfig.Config, error) { return s.credentials(h) },
		Roots:       func() (*x509.CertPool, error) { return cache.Of(h) },
		Silence:     DefaultSilence, Limit: DefaultLimit,
	}
	if s.Keys != "" {
		c.Keys = func() (signature.Keys, error) { return signature.ReadKeys(s.Keys) }
	}
	return c
}

func (s Setup) credentials(h host.Reader) ([]dockerconfig.Config, error) {
	own := s.Config
	if own == "" {
		own = DefaultConfig
	}
	var all []dockerconfig.Config
	for _, from := range []struct {
		name     string
		read     func(string) ([]byte, error)
		required bool
	}{
		{own, os.ReadFile, own != DefaultConfig}, {DefaultConfig, h.ReadFile, false}, {kubeletConfig, h.ReadFile, false},
	} {
		text, err := from.read(from.name)
		if errors.Is(err, fs.ErrNotExist) && !from.required {
			continue
		}
		var c dockerconfig.Config
		if err == nil {
			c, err = dockerconfig.Parse(text)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the credentials of registries in %s: %w", from.name, err)
		}
		all = append(all, c)
	}
	return all, nil
}
