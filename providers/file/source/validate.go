package source

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/providers/file/content"
)

// Validate rejects a source that can't be read, or that others could change in transit.
func (s Source) Validate() error {
	var errs []error
	hasURL := slices.ContainsFunc(s.Locations(), IsURL)
	if !hasURL && (s.Headers != nil || s.CA != nil) {
		errs = append(errs, errors.New("headersFrom, ca and caFrom require a source that is a URL: set source, or remove them"))
	}
	for _, location := range s.Locations() {
		one := s
		one.Location = location
		err := one.validateLocation()
		if err != nil && len(s.Alternatives) > 0 {
			err = fmt.Errorf("sources: %w", err)
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, s.validateChecksum())...)
}

func (s Source) validateLocation() error {
	switch {
	case IsURL(s.Location):
		return s.validateURL()
	case !strings.HasPrefix(s.Location, "/") || path.Clean(s.Location) != s.Location || strings.ContainsRune(s.Location, 0):
		return fmt.Errorf("source %q is neither an absolute path on the host nor an http or https URL: write it as /srv/a, file:///srv/a or https://example.com/a", s.Location)
	}
	return nil
}

// validateURL never shows the URL, because it may contain a password.
func (s Source) validateURL() error {
	u, err := url.Parse(s.Location)
	switch {
	case err != nil || u.Host == "":
		return errors.New("source is not a valid URL: write it as https://example.com/a")
	case u.User != nil:
		return errors.New("source must not contain a user or password: everybody may read the resource")
	case !fetch.IsPrivate(u) && s.Headers != nil:
		return errors.New("headersFrom would be sent over plain http, where anybody on the way can read it: use https")
	case !fetch.IsPrivate(u) && !s.pinned():
		return errors.New("source is plain http, where anybody on the way can change the content: use https, or set checksumValue (not of a lite checksum)")
	}
	return s.validateRequest()
}

func (s Source) validateRequest() error {
	var errs []error
	for _, h := range s.Headers {
		errs = append(errs, h.Problem())
	}
	if s.CA != nil {
		_, err := fetch.ReadCA(*s.CA)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// pinned reports whether a checksum determines the whole content.
func (s Source) pinned() bool {
	return s.ChecksumValue != nil && !strings.HasSuffix(s.algorithm(), "lite")
}

func (s Source) validateChecksum() error {
	if len(s.Locations()) == 0 && (s.Checksum != nil || s.ChecksumValue != nil) {
		return errors.New("checksum and checksumValue require source: set source, or remove them")
	}
	algorithm := s.algorithm()
	digits := content.Digits(algorithm)
	if digits == 0 && algorithm != content.ByTime && algorithm != content.ByNothing {
		return fmt.Errorf("checksum %q is unknown: use sha256, sha512, sha384, sha224, sha1, md5, sha256lite, sha1lite, md5lite, mtime or none", algorithm)
	}
	if s.ChecksumValue == nil {
		return nil
	}
	if raw, err := hex.DecodeString(*s.ChecksumValue); err != nil || digits != 2*len(raw) {
		return fmt.Errorf("checksumValue %q is not a checksum by %s: it has %d hexadecimal digits", *s.ChecksumValue, algorithm, digits)
	}
	return nil
}
