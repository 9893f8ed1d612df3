package file

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/internal/resource"
)

func validateSource(a Attributes) error {
	if len(a.Sources) == 0 {
		return validateOne(a)
	}
	if *a.Source != a.Sources[0] {
		return errors.New("source and sources exclude each other: keep one")
	}
	anyURL := slices.ContainsFunc(a.Sources, isURL)
	for _, s := range a.Sources {
		one := a
		one.Source = &s
		if anyURL && !isURL(s) {
			one.headers, one.CA = nil, nil // they are for the others
		}
		if err := validateOne(one); err != nil {
			return fmt.Errorf("sources: %w", err)
		}
	}
	return nil
}

func validateOne(a Attributes) error {
	if a.Source == nil || !isURL(*a.Source) {
		if a.headers != nil || a.CA != nil {
			return errors.New("headersFrom, ca and caFrom are for a source that is a URL: add it, or remove them")
		}
	}
	if a.Source == nil {
		return nil
	}
	return validateKind(a)
}

func validateKind(a Attributes) error {
	switch {
	case a.Content != nil || a.Target != nil:
		return errors.New("source excludes content and target: keep one")
	case !sourceable(a):
		return fmt.Errorf("ensure: %s has no source: use ensure: file, or for a directory recurse: true, or remove source", wants(a))
	case isURL(*a.Source):
		return validateURL(a)
	case !strings.HasPrefix(*a.Source, "/") || path.Clean(*a.Source) != *a.Source || strings.ContainsRune(*a.Source, 0):
		return fmt.Errorf("source %q is neither an absolute path on the host nor an http or https URL: write it as /srv/a, file:///srv/a or https://example.com/a", *a.Source)
	}
	return nil
}

// sourceable leaves it to recurse to refuse what is no directory.
func sourceable(a Attributes) bool {
	return recurses(a) || wants(a) == resource.Present || wants(a) == string(regular)
}

// validateURL never shows the URL: what is wrong with it may be a password.
func validateURL(a Attributes) error {
	u, err := url.Parse(*a.Source)
	switch {
	case err != nil || u.Host == "":
		return errors.New("source is no URL that can be read: write it as https://example.com/a")
	case u.User != nil:
		return errors.New("source must not have a user or password in it: everybody may read the resource")
	case !fetch.IsPrivate(u) && a.headers != nil:
		return errors.New("headersFrom would be sent over plain http, where anybody on the way can read it: use https")
	case !fetch.IsPrivate(u) && !pinned(a):
		return errors.New("source is plain http, where anybody on the way can change the content: use https, or give checksumValue (not of a lite checksum)")
	}
	return validateRequest(a)
}

func validateRequest(a Attributes) error {
	var errs []error
	for _, h := range a.headers {
		errs = append(errs, h.Problem())
	}
	if a.CA != nil {
		_, err := fetch.ReadCA(*a.CA)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// pinned reports whether the whole content is known by its sum.
func pinned(a Attributes) bool {
	return a.ChecksumValue != nil && !strings.HasSuffix(algorithm(a), "lite")
}

func validateChecksum(a Attributes) error {
	if a.Source == nil && (a.Checksum != nil || a.ChecksumValue != nil) {
		return errors.New("checksum and checksumValue go with source: add it, or remove them")
	}
	how := algorithm(a)
	if digits(how) == 0 && !slices.Contains([]string{sumModified, sumNone}, how) {
		return fmt.Errorf("checksum %q is none of sha256, sha512, sha384, sha224, sha1, md5, sha256lite, sha1lite, md5lite, mtime and none: choose one", how)
	}
	if a.ChecksumValue == nil {
		return nil
	}
	if raw, err := hex.DecodeString(*a.ChecksumValue); err != nil || digits(how) != 2*len(raw) {
		return fmt.Errorf("checksumValue %q is no sum by %s: give its %d hexadecimal digits, or the checksum that it is of", *a.ChecksumValue, how, digits(how))
	}
	return nil
}

func validateLinks(a Attributes) error {
	switch {
	case a.Links == nil:
		return nil
	case *a.Links != linksManage && *a.Links != linksFollow:
		return fmt.Errorf("links %q is neither manage nor follow: choose one", *a.Links)
	case *a.Links == linksFollow && wants(a) == string(link):
		return errors.New("links: follow leads past the link that ensure: link asks for: remove one of them")
	}
	return nil
}
