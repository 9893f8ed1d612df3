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
	"github.com/fettle-dev/fettle/providers/file/source"
	"github.com/fettle-dev/fettle/providers/file/validatecmd"
	"github.com/fettle-dev/fettle/providers/file/walk"
)

// validate repeats the rules of the API, since manifests also come from files, and adds rules that
// the schema cannot express.
func validate(a Attributes) error {
	if a.child {
		return nil
	}
	return errors.Join(
		validatePath(a),
		validateEnsure(a),
		owner.Validate("owner", a.Owner),
		owner.Validate("group", a.Group),
		validateIf(a.Mode, filemode.Validate),
		validateIf(a.ValidateCmd, validatecmd.Validate),
		backup.Validate(a.Backup),
		validateSource(a),
		validateLinks(a),
		validateRecursion(a),
		labelOf(a).Validate(),
		validateRemoval(a),
	)
}

func validateIf(value *string, validate func(string) error) error {
	if value == nil {
		return nil
	}
	return validate(*value)
}

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

// validateRemoval prevents a mistake from destroying the host.
func validateRemoval(a Attributes) error {
	removes := ensure(a) == resource.Absent || ptr.Deref(a.Purge, false) || ptr.Deref(a.Force, false)
	if !removes || !confirm.IsSystemDirectory(a.Path) || validatePath(a) != nil {
		return nil
	}
	return confirm.Check(a.Confirm, a.Path, "this removes "+a.Path+" or its contents, which the host needs:")
}

func validateEnsure(a Attributes) error {
	known := []string{"", resource.Present, resource.Absent, string(entry.Regular), string(entry.Directory), string(entry.Link)}
	if !slices.Contains(known, ensure(a)) {
		return fmt.Errorf("ensure %q is unknown: use present, file, directory, link or absent", ensure(a))
	}
	return errors.Join(validateContent(a), validateTarget(a))
}

func validateContent(a Attributes) error {
	switch {
	case a.Content == nil:
		return nil
	case a.Target != nil:
		return errors.New("content and target are mutually exclusive: set only one")
	case !hasContent(a):
		return fmt.Errorf("content requires ensure: file: change ensure: %s, or remove content", ensure(a))
	}
	return nil
}

// hasContent reports whether ensure allows content.
func hasContent(a Attributes) bool {
	return ensure(a) == resource.Present || ensure(a) == string(entry.Regular)
}

// validateTarget comes after imply, by which a target turns present into a link.
func validateTarget(a Attributes) error {
	isLink := ensure(a) == string(entry.Link)
	switch {
	case a.Target == nil && isLink:
		return errors.New("ensure: link requires target: set it to the path that the link points to")
	case a.Target == nil:
		return nil
	case !isLink:
		return fmt.Errorf("ensure: %s has no target: use ensure: link, or remove target", ensure(a))
	case *a.Target == "" || strings.ContainsRune(*a.Target, 0):
		return fmt.Errorf("target %q is not a path: set it to the path that the link points to", *a.Target)
	}
	return nil
}

func validateSource(a Attributes) error {
	if len(a.Sources) > 0 && *a.Source != a.Sources[0] {
		return errors.New("source and sources are mutually exclusive: set only one")
	}
	err := validateSourceKind(a)
	if err != nil && len(a.Sources) > 0 {
		err = fmt.Errorf("sources: %w", err)
	}
	return errors.Join(err, sourceOf(a).Validate())
}

func validateSourceKind(a Attributes) error {
	switch {
	case a.Source != nil && (a.Content != nil || a.Target != nil):
		return errors.New("source cannot be combined with content or target: set only one")
	case a.Source != nil && !hasContent(a) && !ptr.Deref(a.Recurse, false): // recurse rejects what is not a directory
		return fmt.Errorf("ensure: %s has no source: use ensure: file, or for a directory recurse: true, or remove source", ensure(a))
	}
	return nil
}

func validateLinks(a Attributes) error {
	switch {
	case a.Links == nil:
		return nil
	case *a.Links != linksManage && *a.Links != linksFollow:
		return fmt.Errorf("links %q is unknown: use manage or follow", *a.Links)
	case *a.Links == linksFollow && ensure(a) == string(entry.Link):
		return errors.New("links: follow cannot be combined with ensure: link: remove one of them")
	}
	return nil
}

func validateRecursion(a Attributes) error {
	if !ptr.Deref(a.Recurse, false) {
		if a.RecurseScope != nil || a.RecurseLimit != nil || a.MaxFiles != nil || a.Ignore != nil || a.Purge != nil {
			return errors.New("recurseScope, recurseLimit, maxFiles, ignore and purge require recurse: true: set it, or remove them")
		}
		return nil
	}
	return errors.Join(validateTop(a), validateScope(a), validateLimits(a), walk.ValidateIgnore(a.Ignore))
}

// validateTop validates the attributes of the directory itself.
func validateTop(a Attributes) error {
	switch {
	case ensure(a) != "" && ensure(a) != string(entry.Directory):
		return fmt.Errorf("recurse is for a directory, not for ensure: %s: use ensure: directory, or remove recurse", ensure(a))
	case a.Content != nil || a.Target != nil || a.ChecksumValue != nil:
		return errors.New("recurse is for a directory, which has no content, target or checksumValue: remove them, or recurse")
	}
	return validateTrees(a)
}

// validateTrees validates the directories that are copied.
func validateTrees(a Attributes) error {
	for _, s := range sourceOf(a).Locations() {
		switch {
		case source.IsURL(s):
			return errors.New("recurse requires a source on the host, because a URL cannot be listed: use a path, or remove recurse")
		case host.IsBelow(s, a.Path) || host.IsBelow(a.Path, s):
			return fmt.Errorf("source %s and path %s must not contain one another: use other directories", s, a.Path)
		}
	}
	return nil
}

func validateScope(a Attributes) error {
	switch {
	case a.RecurseScope == nil:
		return nil
	case *a.RecurseScope != scopeAll && *a.RecurseScope != scopeSource:
		return fmt.Errorf("recurseScope %q is unknown: use All or Source", *a.RecurseScope)
	case onlySource(a) && a.Source == nil:
		return errors.New("recurseScope: Source requires source: set it to the directory to copy, or use recurseScope: All")
	case onlySource(a) && ptr.Deref(a.Purge, false):
		return errors.New("recurseScope: Source cannot be combined with purge: remove purge, or use recurseScope: All")
	}
	return nil
}

func validateLimits(a Attributes) error {
	switch {
	case a.RecurseLimit != nil && *a.RecurseLimit < 1:
		return fmt.Errorf("recurseLimit %d is not a number of levels: use 1 or more, or remove recurse", *a.RecurseLimit)
	case a.MaxFiles != nil && *a.MaxFiles < -1:
		return fmt.Errorf("maxFiles %d is not a number of files: use 1 or more, 0 to be warned or -1 for any number", *a.MaxFiles)
	}
	return nil
}
