package source

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/providers/file/content"
)

// Validate rejects a source that can't be read. It repeats the schema's rules about plain http and passwords, because their violation
// gives root's content, or a secret, to anybody on the way.
func (s Source) Validate() error {
	var errs []error
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

// validateChecksum repeats a rule of the schema, because a checksumValue of another length, or for mtime, would pin plain http to
// nothing.
func (s Source) validateChecksum() error {
	if s.ChecksumValue == nil {
		return nil
	}
	if digits := content.Digits(s.algorithm()); digits == 0 || len(*s.ChecksumValue) != digits {
		return fmt.Errorf("checksumValue %q is not a checksum by %s: it has %d hexadecimal digits", *s.ChecksumValue, s.algorithm(), digits)
	}
	return nil
}
