// Package tidy is the resource type Tidy: it removes files that are old or large.
//
// A Tidy itself is always in sync, but the removals that it generates are not. They are reported as
// Files. A Tidy walks where others can write: its path is opened once, and neither the walk nor a
// removal follows a symlink below it.
package tidy

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/confirm"
)

//go:embed doc.md
var doc string

//go:embed example.yaml
var example string

// Attributes are the attributes of a Tidy.
type Attributes struct {
	v1alpha1.TidyAttributes
	name string // metadata.name
}

// Type is the type Tidy. now is the clock for ages.
func Type(now func() time.Time) *resource.Type[Attributes] {
	return &resource.Type[Attributes]{
		Name:    "Tidy",
		Doc:     doc,
		Example: example,
		Parameters: []resource.Parameter{
			{Name: "path", Doc: "The file, or the directory with the files."},
			{Name: "recurse", Doc: "Whether the files below path are tidied too. Default false."},
			{Name: "recurseLimit", Doc: "The number of levels to descend; all by default."},
			{Name: "matches", Doc: "Shell globs; the base name must match one of them."},
			{Name: "rmdirs", Doc: "Whether empty directories are removed too. Default false."},
			{Name: "ageSeconds", Doc: "The minimum age of a file to remove, in seconds or with a unit, such as 1w, 30d or 12h."},
			{Name: "type", Doc: "The time from which the age counts: atime (default), mtime or ctime."},
			{Name: "size", Doc: "The minimum size of a file to remove, regardless of its age: a whole number and a unit, b, k, m, g, t, Ki, Mi, Gi or Ti, each 1024 times the one before."},
			{Name: "confirm", Doc: "The path again, to allow tidying a directory that the host needs."},
			{Name: "backup", Doc: "None (default), or Bucket to back up removed files."},
		},
		Providers:   []resource.Provider[Attributes]{posix{now}},
		NamevarName: resource.MetadataName,
		Namevar:     func(a *Attributes) *string { return &a.name },
		Normalize:   normalize,
		OneOf: []resource.OneOf[Attributes]{
			{Attribute: "type", Value: func(a *Attributes) *string { return a.Type }, Words: []string{"atime", "mtime", "ctime"}},
			{Attribute: "backup", Value: func(a *Attributes) *string { return a.Backup }, Words: []string{"None", "Bucket"}},
		},
		Validate: validate,
		Auto: []resource.AutoRelation[Attributes]{
			{Relation: resource.Require, Kind: "File", Names: above, Nearest: true},
		},
	}
}

func normalize(a *Attributes) {
	a.Path = cleaned(a.Path)
	if a.Confirm != nil {
		a.Confirm = new(cleaned(*a.Confirm))
	}
}

// cleaned returns a path without superfluous slashes; "" stays empty.
func cleaned(p string) string {
	if p == "" {
		return p
	}
	return path.Clean(p)
}

// above returns a path and the directories above it, from the bottom up.
func above(a Attributes) []string {
	var all []string
	for p := a.Path; path.IsAbs(p) && p != "/"; p = path.Dir(p) {
		all = append(all, p)
	}
	return all
}

// validate repeats the schema's rules about path and confirm, because their violation destroys the host.
func validate(a Attributes) error {
	var errs []error
	if !path.IsAbs(a.Path) {
		errs = append(errs, fmt.Errorf("path %q must be absolute: begin it with /", a.Path))
	}
	if ptr.Deref(a.Recurse, false) && confirm.IsSystemDirectory(a.Path) {
		errs = append(errs, confirm.Check(a.Confirm, a.Path, "this tidies "+a.Path+", which the host needs: use a directory below it, or,"))
	}
	return errors.Join(append(errs, validateMatches(a.Matches))...)
}

// validateMatches rejects invalid globs, which the schema admits.
func validateMatches(patterns []string) error {
	var errs []error
	for _, m := range patterns {
		if _, err := path.Match(glob(m), ""); err != nil {
			errs = append(errs, fmt.Errorf("matches has %q, which is not a shell glob for base names: write it as *.log", m))
		}
	}
	return errors.Join(errs...)
}

// glob replaces the shell's [!a] by [^a], which [path.Match] understands.
func glob(pattern string) string { return strings.ReplaceAll(pattern, "[!", "[^") }
