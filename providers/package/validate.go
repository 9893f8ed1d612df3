package pkg

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/fettle-dev/fettle/providers/package/debversion"
)

func validate(want Attributes) error {
	return errors.Join(validateName(want.Name), validateEnsure(want.Ensure), validateSource(want.Source))
}

// validateName repeats a rule of the schema, because apt-get would take the name for an option, and dpkg for another line.
func validateName(name string) error {
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \t\n\r\v\f\x00") {
		return fmt.Errorf("name %q is not a package's: it must not be empty, begin with - or contain white space", name)
	}
	return nil
}

// validateEnsure rejects a range without a version, which the schema admits.
func validateEnsure(ensure *string) error {
	if ensure == nil || !debversion.IsRange(*ensure) {
		return nil
	}
	if _, err := debversion.ParseRange(*ensure); err != nil {
		return fmt.Errorf("cannot read ensure: %w", err)
	}
	return nil
}

// validateSource repeats a rule of the schema in part, because apt-get would take anything else for an option or for the name of another
// package.
func validateSource(source *string) error {
	if source == nil || path.IsAbs(*source) && path.Ext(*source) == ".deb" {
		return nil
	}
	return fmt.Errorf("source %q is not the path of a package: use an absolute path that ends in .deb", *source)
}
