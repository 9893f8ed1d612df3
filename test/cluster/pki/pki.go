// Package pki issues the certificates of a test cluster.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	// validity is longer than any cluster runs.
	validity = 30 * 24 * time.Hour
	// age of a cluster's certificates when it starts: those of real clusters are old enough for a node whose clock is slow.
	age = 24 * time.Hour
)

// An Authority signs certificates.
type Authority struct {
	key  crypto.Signer
	cert *x509.Certificate
}

// New creates an authority with a certificate of its own.
func New(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	own, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name, NotBefore: time.Now().Add(-age)}, key)
	return &Authority{key, own}, err
}

// Certificate returns the authority's certificate in PEM.
func (a *Authority) Certificate() []byte { return encode(a.cert.Raw) }

// An Identity is the subject of a certificate. The Kubernetes API takes Name for the user, and Groups for the groups.
type Identity struct {
	Name   string
	Groups []string
	// Hosts are the addresses and names at which it serves.
	Hosts []string
}

// Issue returns a certificate for clients and servers, and its key, both in PEM.
func (a *Authority) Issue(id Identity) (certificate, key []byte, err error) {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: id.Name, Organization: id.Groups},
		NotBefore:    a.cert.NotBefore,
		NotAfter:     time.Now().Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	for _, host := range id.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, own.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	key, err = keyutil.MarshalPrivateKeyToPEM(own)
	return encode(der), key, err
}

func encode(der []byte) []byte {
	encoded, _ := cert.EncodeCertificates(&x509.Certificate{Raw: der}) // it cannot fail: memory takes every write
	return encoded
}
