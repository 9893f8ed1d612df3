package pkg

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/package/debversion"
)

// validate repeats the rules of the schema, since manifests also come from files.
func validate(want Attributes) error {
	return errors.Join(
		validName(want.Name),
		validEnsure(want.Ensure),
		validEnvironment(want.Environment),
		validMark(want),
		validSource(want.Source),
		validResponseFile(want.ResponseFile),
	)
}

func validName(name string) error {
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \t\n\r\v\f\x00") {
		return fmt.Errorf("name %q is not a package's: it must not be empty, begin with - or contain white space", name)
	}
	return nil
}

func validEnsure(ensure *string) error {
	version := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+~:_-]*$`)
	switch {
	case ensure != nil && *ensure == "held":
		return errors.New("ensure: held is Puppet's form: write mark: hold, and present or a version in ensure")
	case ensure == nil || version.MatchString(*ensure):
		return nil
	case debversion.IsRange(*ensure):
		if _, err := debversion.ParseRange(*ensure); err != nil {
			return fmt.Errorf("cannot read ensure: %w", err)
		}
		return nil
	default:
		return fmt.Errorf("ensure %q is unknown: use present, installed, latest, absent, purged, a version or a range of versions", *ensure)
	}
}

// validEnvironment does not quote an entry, which may contain a secret.
func validEnvironment(environment []string) error {
	variable := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	for i, entry := range environment {
		if !variable.MatchString(entry) {
			return fmt.Errorf("entry %d of environment is not KEY=value: write it as in http_proxy=http://proxy:3128", i+1)
		}
	}
	return nil
}

// validSource requires the suffix by which apt-get distinguishes files from names.
func validSource(source *string) error {
	if source == nil || cleanPath(*source) && path.Ext(*source) == ".deb" {
		return nil
	}
	return fmt.Errorf("source %q is not the path of a package: use an absolute path that ends in .deb and contains neither .. nor . names", *source)
}

func validResponseFile(file *string) error {
	if file == nil || cleanPath(*file) {
		return nil
	}
	return fmt.Errorf("responseFile %q is not a valid path: use an absolute path that contains neither .. nor . names", *file)
}

func cleanPath(name string) bool {
	return path.IsAbs(name) && path.Clean(name) == name && name != "/" && !strings.ContainsAny(name, "\n\x00")
}

func validMark(want Attributes) error {
	gone := ensureOf(want) == resource.Absent || ensureOf(want) == purged
	if gone && want.Mark != nil && *want.Mark == hold {
		return fmt.Errorf("mark %q and ensure %q cannot be combined: remove mark, or change ensure", hold, ensureOf(want))
	}
	return nil
}
