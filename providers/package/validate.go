package pkg

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/package/debversion"
)

// validate repeats what the schema says, because a manifest that never saw an API
// server is bound too.
func validate(want Attributes) error {
	return errors.Join(
		validName(want.Name),
		validEnsure(want.Ensure),
		oneOf("mark", want.Mark, hold, none),
		oneOf("configFiles", want.ConfigFiles, keep, replace),
		validEnvironment(want.Environment),
		validMark(want),
		validSource(want.Source),
		validResponseFile(want.ResponseFile),
	)
}

func validName(name string) error {
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \t\n\r\v\f\x00") {
		return fmt.Errorf("name %q is not a package's: it must not be empty, begin with - nor have white space in it", name)
	}
	return nil
}

func validEnsure(ensure *string) error {
	version := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+~:_-]*$`)
	switch {
	case ensure == nil || version.MatchString(*ensure):
		return nil
	case debversion.IsRange(*ensure):
		if _, err := debversion.ParseRange(*ensure); err != nil {
			return fmt.Errorf("cannot read ensure: %w", err)
		}
		return nil
	default:
		return fmt.Errorf("ensure %q is none of present, installed, latest, absent, purged, and no version or range of versions: use one of these", *ensure)
	}
}

func oneOf(attribute string, value *string, allowed ...string) error {
	if value == nil || slices.Contains(allowed, *value) {
		return nil
	}
	return fmt.Errorf("%s %q is not known: use %s", attribute, *value, strings.Join(allowed, " or "))
}

// validEnvironment does not quote an entry, which may hold a secret.
func validEnvironment(environment []string) error {
	variable := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	for i, entry := range environment {
		if !variable.MatchString(entry) {
			return fmt.Errorf("environment has no KEY=value as entry %d: write one, as in http_proxy=http://proxy:3128", i+1)
		}
	}
	return nil
}

// validSource asks for the suffix because apt-get tells files from names by it.
func validSource(source *string) error {
	if source == nil || cleanPath(*source) && path.Ext(*source) == ".deb" {
		return nil
	}
	return fmt.Errorf("source %q is not the path of a package: write an absolute one that has no . nor .. in it and ends in .deb", *source)
}

func validResponseFile(file *string) error {
	if file == nil || cleanPath(*file) {
		return nil
	}
	return fmt.Errorf("responseFile %q is not a path: write an absolute one that has no . nor .. in it", *file)
}

func cleanPath(name string) bool {
	return path.IsAbs(name) && path.Clean(name) == name && name != "/" && !strings.ContainsAny(name, "\n\x00")
}

func validMark(want Attributes) error {
	gone := ensureOf(want) == resource.Absent || ensureOf(want) == purged
	if gone && want.Mark != nil && *want.Mark == hold {
		return fmt.Errorf("mark %q can't go with ensure %q, where nothing is left to hold: leave one of them out", hold, ensureOf(want))
	}
	return nil
}
