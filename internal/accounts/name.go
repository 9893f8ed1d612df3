package accounts

import (
	"fmt"
	"regexp"
)

// maxName is the length of the longest name that useradd and groupadd accept.
const maxName = 32

var (
	// possible are names that some distribution's tools accept.
	possible = regexp.MustCompile(`^[^-+~:,/\s[:cntrl:]][^:,/\s[:cntrl:]]*$`)
	// common are names that all of them accept.
	common = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*[$]?$`)
)

// CheckName returns an error if no tool creates an account of this name. certain reports whether all tools agree.
func CheckName(name string) (certain bool, err error) {
	if len(name) > maxName || !possible.MatchString(name) {
		return true, fmt.Errorf("%q is no name of an account: use at most %d letters, digits, dots, underscores and hyphens, and begin with a letter", name, maxName)
	}
	return common.MatchString(name), nil
}
