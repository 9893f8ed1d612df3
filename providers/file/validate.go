package file

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/confirm"
	"github.com/fettle-dev/fettle/providers/file/backup"
	"github.com/fettle-dev/fettle/providers/file/entry"
	"github.com/fettle-dev/fettle/providers/file/filemode"
	"github.com/fettle-dev/fettle/providers/file/owner"
	"github.com/fettle-dev/fettle/providers/file/validatecmd"
	"github.com/fettle-dev/fettle/providers/file/walk"
)

// validate has the rules that the schema can't express. It repeats those whose violation in a catalog, which an agent reads without
// the schema, could write outside of the path, follow plain http, skip a check of content, or destroy the host.
func validate(a Attributes) error {
	if a.child {
		return nil
	}
	return errors.Join(
		validatePath(a),
		validateTarget(a),
		owner.Validate("owner", a.Owner),
		owner.Validate("group", a.Group),
		validateIf(a.Mode, filemode.Validate),
		validateIf(a.ValidateCmd, validatecmd.Validate),
		backup.Validate(a.Backup),
		validateSource(a),
		walk.ValidateIgnore(a.Ignore),
		validateRemoval(a),
	)
}

func validateIf(value *string, validate func(string) error) error {
	if value == nil {
		return nil
	}
	return validate(*value)
}

// validatePath repeats the schema's rules, because a path with .. is another thing than its name says: claims, conflicts and confirm
// rely on the name.
func validatePath(a Attributes) error {
	switch p := a.Path; {
	case !strings.HasPrefix(p, "/"):
		return fmt.Errorf("path %q must be absolute, such as /etc/motd", p)
	case slices.ContainsFunc(strings.Split(p, "/"), func(name string) bool { return name == "." || name == ".." }):
		return fmt.Errorf("path %q must not contain . or ..: write the resolved path", p)
	case strings.ContainsRune(p, 0):
		return fmt.Errorf("path %q must not contain a zero byte: remove it", p)
	case p == "/" && ensure(a) != "" && ensure(a) != resource.Present && ensure(a) != string(entry.Directory):
		return fmt.Errorf("path / can only be a directory: remove ensure: %s, or use another path", ensure(a))
	}
	return nil
}

// validateRemoval repeats a rule of the schema, because its violation destroys the host.
func validateRemoval(a Attributes) error {
	removes := ensure(a) == resource.Absent || ptr.Deref(a.Purge, false) || ptr.Deref(a.Force, false)
	if !removes || !confirm.IsSystemDirectory(a.Path) || validatePath(a) != nil {
		return nil
	}
	return confirm.Check(a.Confirm, a.Path, "this removes "+a.Path+" or its contents, which the host needs:")
}

// validateTarget requires the text of a link. That there is one is a rule of the schema, too, but nothing can be made without it.
func validateTarget(a Attributes) error {
	switch {
	case a.Target == nil && ensure(a) == string(entry.Link):
		return errors.New("ensure: link requires target: set it to the path that the link points to")
	case a.Target != nil && strings.ContainsRune(*a.Target, 0):
		return fmt.Errorf("target %q must not contain a zero byte: remove it", *a.Target)
	}
	return nil
}

func validateSource(a Attributes) error {
	return errors.Join(sourceOf(a).Validate(), validateTrees(a))
}

// validateTrees rejects a copy of a directory into itself.
func validateTrees(a Attributes) error {
	if !ptr.Deref(a.Recurse, false) {
		return nil
	}
	for _, s := range sourceOf(a).Locations() {
		if host.IsBelow(s, a.Path) || host.IsBelow(a.Path, s) {
			return fmt.Errorf("source %s and path %s must not contain one another: use other directories", s, a.Path)
		}
	}
	return nil
}
