// Package roots reads the certificate authorities that a host trusts.
package roots

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/fettle-dev/fettle/internal/host"
)

// bundles are the files with the certificate authorities that a host trusts, as in crypto/x509. The first one that
// exists counts.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt",                // Debian, Ubuntu, Arch, Gentoo
	"/etc/pki/tls/certs/ca-bundle.crt",                  // Fedora, RHEL 6
	"/etc/ssl/ca-bundle.pem",                            // openSUSE
	"/etc/pki/tls/cacert.pem",                           // OpenELEC
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // RHEL 7 and later
	"/etc/ssl/cert.pem",                                 // Alpine
}

// A Cache has the certificates of the last bundle that was read. The zero value is ready, and safe for
// concurrent use.
type Cache struct {
	mu   sync.Mutex
	file host.FileInfo
	pool *x509.CertPool
}

// Of returns the certificate authorities that a host trusts; nil if it has no bundle. It reads a bundle again when
// that has changed.
func (c *Cache) Of(h host.Reader) (*x509.CertPool, error) {
	for _, path := range bundles {
		info, err := h.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the certificates that the host trusts: %w", err)
		}
		return c.read(h, path, info)
	}
	return nil, nil
}

func (c *Cache) read(h host.Reader, path string, info host.FileInfo) (*x509.CertPool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pool != nil && info.Unchanged(c.file) {
		return c.pool, nil
	}
	text, err := h.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the certificates that the host trusts: %w", err)
	}
	c.file, c.pool = info, x509.NewCertPool()
	c.pool.AppendCertsFromPEM(text) // a host may trust none
	return c.pool, nil
}
