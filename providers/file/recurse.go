package file

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
)

// What recurseScope can say.
const (
	scopeAll    = "All"
	scopeSource = "Source"
)

func recurses(a Attributes) bool { return a.Recurse != nil && *a.Recurse }

func purges(a Attributes) bool { return a.Purge != nil && *a.Purge }

func follows(a Attributes) bool { return a.Links != nil && *a.Links == linksFollow }

// onlySource reports whether what is on the host besides the source is left alone.
func onlySource(a Attributes) bool { return a.RecurseScope != nil && *a.RecurseScope == scopeSource }

func validateRecursion(a Attributes) error {
	if !recurses(a) {
		if a.RecurseScope != nil || a.RecurseLimit != nil || a.MaxFiles != nil || a.Ignore != nil || a.Purge != nil {
			return errors.New("recurseScope, recurseLimit, maxFiles, ignore and purge go with recurse: set recurse: true, or remove them")
		}
		return nil
	}
	return errors.Join(validateTop(a), validateScope(a), validateLimits(a), validateIgnore(a.Ignore))
}

// validateTop is about the directory itself.
func validateTop(a Attributes) error {
	switch {
	case wants(a) != "" && wants(a) != string(directory):
		return fmt.Errorf("recurse is for a directory, not for ensure: %s: use ensure: directory, or remove recurse", wants(a))
	case a.Content != nil || a.Target != nil || a.ChecksumValue != nil:
		return errors.New("recurse is for a directory, which has no content, target or checksumValue: remove them, or recurse")
	case a.Source == nil:
		return nil
	}
	return validateTrees(a)
}

// validateTrees is about the directories that are copied.
func validateTrees(a Attributes) error {
	for _, s := range append([]string{*a.Source}, a.Sources...) {
		if isURL(s) {
			return errors.New("recurse needs a source on the host, as a URL has no list of files: use a path, or remove recurse")
		}
		if isBelow(s, a.Path) || isBelow(a.Path, s) {
			return fmt.Errorf("source %s and path %s lie within one another: name directories that do not", s, a.Path)
		}
	}
	return nil
}

// isBelow reports whether a path is another or lies below it.
func isBelow(p, top string) bool { return p == top || top == "/" || strings.HasPrefix(p, top+"/") }

func validateScope(a Attributes) error {
	switch {
	case a.RecurseScope == nil:
		return nil
	case !slices.Contains([]string{scopeAll, scopeSource}, *a.RecurseScope):
		return fmt.Errorf("recurseScope %q is neither All nor Source: choose one", *a.RecurseScope)
	case onlySource(a) && a.Source == nil:
		return errors.New("recurseScope: Source needs source, the directory to copy: add it, or use recurseScope: All")
	case onlySource(a) && purges(a):
		return errors.New("recurseScope: Source leaves alone what the source does not have: remove purge, or use recurseScope: All")
	}
	return nil
}

func validateLimits(a Attributes) error {
	switch {
	case a.RecurseLimit != nil && *a.RecurseLimit < 1:
		return fmt.Errorf("recurseLimit %d is no number of levels: use 1 or more, or remove recurse", *a.RecurseLimit)
	case a.MaxFiles != nil && *a.MaxFiles < -1:
		return fmt.Errorf("maxFiles %d is no number of files: use 1 or more, 0 to be warned or -1 for any number", *a.MaxFiles)
	}
	return nil
}

func validateIgnore(patterns []string) error {
	for _, p := range patterns {
		switch _, err := path.Match(glob(p), ""); {
		case err != nil || p == "":
			return fmt.Errorf("ignore %q is no shell glob: write it as *.swp or [._]*", p)
		case strings.Contains(p, "/"):
			return fmt.Errorf("ignore %q is held against base names: write it without a /, as in *.swp", p)
		}
	}
	return nil
}

// ignored reports whether a base name matches a pattern. As in a shell, a dot at the
// beginning has to be said.
func ignored(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(p, ".") && !strings.HasPrefix(p, `\.`) {
			return false
		}
		matches, err := path.Match(glob(p), name)
		return matches && err == nil
	})
}

// glob takes the shell's [!a] for the library's [^a].
func glob(pattern string) string { return strings.ReplaceAll(pattern, "[!", "[^") }

// A fate is what becomes of a path below a File that recurses.
type fate int

const (
	tended fate = iota // it is there, and gets the owner and so on
	copied             // it is made like what is in the source
	purged
)

// A child is a path below a File that recurses.
type child struct {
	path string
	at   *spot // nil where links are followed
	fate fate
	// Of what is copied:
	from   string
	copied *spot // where from is; nil where links are followed
	as     entry
	text   string // of a link
}

// attributes are the child's: those of the File above but for what is about that itself.
func (c child) attributes(parent Attributes) Attributes {
	a := Attributes{FileAttributes: parent.FileAttributes, child: true, at: c.at, copied: c.copied}
	a.Path, a.Ensure, a.Source, a.Sources, a.FollowParentLinks = c.path, nil, nil, nil, nil
	a.Recurse, a.RecurseScope, a.RecurseLimit, a.MaxFiles, a.Ignore, a.Purge = nil, nil, nil, nil, nil, nil
	switch {
	case c.fate == purged:
		a.Ensure, a.Links = new(resource.Absent), nil // never what a link leads to
	case c.fate == tended:
	case c.as == directory:
		a.Ensure = new(string(directory))
	case c.as == link:
		a.Ensure, a.Target = new(string(link)), &c.text
	default: // a source that is neither says so when it is read
		a.Ensure, a.Source = new(string(regular)), &c.from
	}
	return a
}
