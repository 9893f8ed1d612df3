package fetch

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"net/http"
	"strings"
)

// algorithms are those of the checksums that servers send.
var algorithms = map[string]func() hash.Hash{"sha512": sha512.New, "sha256": sha256.New, "sha1": sha1.New, "md5": md5.New}

// digestNames are their names in the headers of RFC 9530 and RFC 3230.
var digestNames = map[string]string{
	"sha-512": "sha512", "sha-256": "sha256", "sha": "sha1", "md5": "md5",
}

// answer parses the headers that describe the content.
func answer(h http.Header) Answer {
	a := Answer{Sums: sums(h)}
	if t, err := http.ParseTime(h.Get("Last-Modified")); err == nil {
		a.Modified = t
	}
	a.Version = version(h, a.Modified)
	return a
}

// sums returns the checksums of the whole content. It ignores invalid ones.
func sums(h http.Header) map[string]string {
	all := map[string]string{}
	add := func(algorithm string, raw []byte, err error) {
		if make := algorithms[algorithm]; err == nil && make != nil && all[algorithm] == "" && len(raw) == make().Size() {
			all[algorithm] = hex.EncodeToString(raw)
		}
	}
	for algorithm := range algorithms {
		raw, err := hex.DecodeString(h.Get("X-Checksum-" + algorithm))
		add(algorithm, raw, err)
	}
	for _, name := range []string{"Repr-Digest", "Content-Digest", "Digest"} {
		for _, field := range h.Values(name) {
			for part := range strings.SplitSeq(field, ",") {
				algorithm, value, _ := strings.Cut(strings.TrimSpace(part), "=")
				raw, err := base64.StdEncoding.DecodeString(strings.Trim(value, ":"))
				add(digestNames[strings.ToLower(algorithm)], raw, err)
			}
		}
	}
	raw, err := base64.StdEncoding.DecodeString(h.Get("Content-MD5"))
	add("md5", raw, err)
	return all
}
