package user

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/resource"
)

func exists(a attributes) bool { return a.Ensure != nil && *a.Ensure == resource.Present }

func isAbsent(a attributes) bool { return a.Ensure != nil && *a.Ensure == resource.Absent }

func isMinimum(a attributes) bool { return a.Membership == nil || *a.Membership == "minimum" }

func gidField(a *attributes) *intstr.IntOrString { return a.GID }

// setDefaults makes an account present if anything but its name is set.
func setDefaults(a *attributes) {
	managed := func(p resource.Property[attributes]) bool { return p.Managed(*a) }
	if slices.ContainsFunc(properties(), managed) || ptr.Deref(a.ManageHome, false) || ptr.Deref(a.System, false) {
		a.Ensure = cmp.Or(a.Ensure, new(resource.Present))
	}
}

// normalize turns a gid that is a number in quotes into a number, and removes slashes at the end of a home, as usermod does.
func normalize(a *attributes) {
	if a.Home != nil && strings.HasSuffix(*a.Home, "/") {
		a.Home = new("/" + strings.Trim(*a.Home, "/"))
	}
	if a.GID == nil {
		return
	}
	if n, ok := asNumber(a.GID); ok {
		a.GID = number(n)
	}
}

func asNumber(gid *intstr.IntOrString) (n int64, ok bool) {
	u, err := strconv.ParseUint(gid.String(), 10, 32)
	return int64(u), err == nil
}

// number returns the canonical form of a gid as a number: the type stores the upper half of them only as
// text.
func number(gid int64) *intstr.IntOrString {
	if gid <= math.MaxInt32 {
		return new(intstr.FromInt32(int32(gid)))
	}
	return new(intstr.FromString(strconv.FormatInt(gid, 10)))
}

// validate has the rules that the schema can't express: those for values from Secrets and for names that default to metadata.name.
func validate(a attributes) error {
	return errors.Join(
		validateField("name", &a.Name), validateField("comment", a.Comment), validatePath("home", a.Home), validatePath("shell", a.Shell),
		validateExpiry(a), validatePassword(a), validateRemoval(a),
	)
}

// validateField repeats rules of the schema, because a colon or a line break adds another field or line to /etc/passwd or to the input
// of chpasswd.
func validateField(attribute string, value *string) error {
	if value != nil && strings.ContainsFunc(*value, func(r rune) bool { return r == ':' || unicode.IsControl(r) }) {
		return fmt.Errorf("%s %q must not contain a colon, a line break or another control character: remove it", attribute, *value)
	}
	return nil
}

// validatePath repeats a rule of the schema, because a relative home or shell is another one in each directory. An account of the host,
// which may be restored, may have none.
func validatePath(attribute string, value *string) error {
	if value != nil && *value != "" && !strings.HasPrefix(*value, "/") {
		return fmt.Errorf("%s %q must be an absolute path: begin it with /", attribute, *value)
	}
	return validateField(attribute, value)
}

// groupsBefore returns the groups that must exist before a user: those that it names and, without a
// gid, the one of its own name.
func groupsBefore(a attributes) []string {
	if isAbsent(a) {
		return nil
	}
	return related(a)
}

// groupsAfter returns the groups that cannot be removed before the user, or that are removed with it
// and may have to be created again.
func groupsAfter(a attributes) []string {
	if !isAbsent(a) {
		return nil
	}
	return related(a)
}

func related(a attributes) []string {
	if a.GID == nil {
		return append([]string{a.Name}, a.Groups...)
	}
	return append([]string{a.GID.String()}, a.Groups...)
}

// keys let a file whose owner is a number find the account with that number.
func keys(a attributes) []string {
	if a.UID == nil {
		return nil
	}
	return []string{strconv.FormatInt(*a.UID, 10)}
}
