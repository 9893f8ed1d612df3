package file

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/filemode"
)

// validate refuses what the API refuses too, since manifests also come from files,
// and what its schema cannot say.
func validate(a Attributes) error {
	if a.child {
		return nil
	}
	return errors.Join(
		validatePath(a),
		validateEnsure(a),
		validateID("owner", a.Owner),
		validateID("group", a.Group),
		validateMode(a.Mode),
		validateCommand(a.ValidateCmd),
		validateBackup(a.Backup),
		validateSource(a),
		validateChecksum(a),
		validateLinks(a),
		validateRecursion(a),
		validateLabel(a),
		validateHarm(a),
	)
}

func validatePath(a Attributes) error {
	switch p := a.Path; {
	case !strings.HasPrefix(p, "/"):
		return fmt.Errorf("path %q must be absolute, as in /etc/motd", p)
	case slices.ContainsFunc(strings.Split(p, "/"), func(name string) bool { return name == "." || name == ".." }):
		return fmt.Errorf("path %q must not have . or .. in it: write where it leads", p)
	case strings.ContainsRune(p, 0):
		return fmt.Errorf("path %q must not have a zero byte in it: remove it", p)
	case p == "/" && wants(a) != "" && wants(a) != resource.Present && wants(a) != string(directory):
		return fmt.Errorf("path / can only be a directory: remove ensure: %s, or name another path", wants(a))
	}
	return nil
}

// validateHarm keeps a host from being destroyed by a slip.
func validateHarm(a Attributes) error {
	harms := wants(a) == resource.Absent || purges(a) || a.Force != nil && *a.Force
	if !harms || !resource.IsSystemDirectory(a.Path) || validatePath(a) != nil {
		return nil
	}
	return resource.Confirmed(a.Confirm, a.Path, "this removes "+a.Path+", or what is in it, which the host does not work without:")
}

// wants is what the resource says of ensure, "" where it says nothing.
func wants(a Attributes) string {
	if a.Ensure == nil {
		return ""
	}
	return *a.Ensure
}

func validateEnsure(a Attributes) error {
	ensure := wants(a)
	if !slices.Contains([]string{"", resource.Present, resource.Absent, string(regular), string(directory), string(link)}, ensure) {
		return fmt.Errorf("ensure %q is none of present, file, directory, link and absent: choose one", ensure)
	}
	return errors.Join(validateContent(a), validateTarget(a))
}

func validateContent(a Attributes) error {
	switch {
	case a.Content == nil:
		return nil
	case a.Target != nil:
		return errors.New("content and target exclude each other: keep one")
	case wants(a) != resource.Present && wants(a) != string(regular):
		return fmt.Errorf("ensure: %s has no content: use ensure: file, or remove content", wants(a))
	}
	return nil
}

// validateTarget comes after implyEnsure, where a target has made present a link.
func validateTarget(a Attributes) error {
	isLink := wants(a) == string(link)
	switch {
	case a.Target == nil && isLink:
		return errors.New("ensure: link needs target: say what the link leads to")
	case a.Target == nil:
		return nil
	case !isLink:
		return fmt.Errorf("ensure: %s has no target: use ensure: link, or remove target", wants(a))
	case *a.Target == "" || strings.ContainsRune(*a.Target, 0):
		return fmt.Errorf("target %q is no path: say what the link leads to", *a.Target)
	}
	return nil
}

// maxID is the largest number of a user or group. The next one means "nobody" to
// the kernel: to leave the owner as it is.
const maxID = math.MaxUint32 - 1

func validateID(attribute string, id *intstr.IntOrString) error {
	if id == nil {
		return nil
	}
	n, numeric := number(*id)
	switch {
	case numeric && (n < 0 || n > maxID):
		return fmt.Errorf("%s %s is no number of an account: use one from 0 to %d, or a name", attribute, id.String(), int64(maxID))
	case !numeric && (id.StrVal == "" || strings.ContainsAny(id.StrVal, ":/ \t\n\x00")):
		return fmt.Errorf("%s %q is no name of an account: use one from the host's list of accounts, or a number", attribute, id.StrVal)
	}
	return nil
}

func validateMode(mode *string) error {
	if mode == nil {
		return nil
	}
	return filemode.Validate(*mode)
}

func validateCommand(command *string) error {
	if command == nil {
		return nil
	}
	_, err := checkWords(*command)
	return err
}
