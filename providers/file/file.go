// Package file is the resource type File: the files, directories and symlinks of a host.
//
// This file defines the type, properties.go what is compared, read.go how a host is read, and
// write.go how it is changed. The parts that need no attributes are packages below.
package file

import (
	_ "embed"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/providers/file/content"
	"github.com/fettle-dev/fettle/providers/file/entry"
	"github.com/fettle-dev/fettle/providers/file/owner"
	"github.com/fettle-dev/fettle/providers/file/source"
)

//go:embed doc.md
var doc string

//go:embed example.yaml
var example string

// labels is the feature of managing SELinux labels.
const labels resource.Feature = "manages_selinux"

// FeaturesWhere implements [resource.Conditional]. Without SELinux in the kernel nothing checks
// a label: any label would be in sync and mean nothing.
func (posix) FeaturesWhere() map[resource.Feature]resource.Where {
	return map[resource.Feature]resource.Where{labels: {"os.selinux.enabled": {"true"}}}
}

// Type is the type File. remote gets the contents of URLs.
func Type(remote fetch.Source) *resource.Type[Attributes] {
	p := posix{accounts: owner.NewAccounts(), sources: source.NewReader(remote), now: time.Now} //nolint:forbidigo // here the clock is handed out
	t := &resource.Type[Attributes]{
		Name:       "File",
		Doc:        doc,
		Example:    example,
		Features:   []resource.FeatureDoc{{Name: labels, Doc: "SELinux labels can be read and set, on hosts with SELinux."}},
		Properties: append(properties(), auditOnly()...),
		Parameters: []resource.Parameter{
			{Name: "confirm", Doc: "The path again, to allow the removal or purge of a directory that the host needs."},
			{Name: "force", Doc: "Allows a directory to be removed, or replaced by something else, with everything in it."},
			{Name: "replace", Doc: "false only creates the file: an existing one keeps its content. Default true."},
			{Name: "backup", Doc: "Where the old content goes before it is replaced or removed: Bucket (default), None, or beside the file with a suffix such as .bak."},
			{Name: "source", Doc: "Where the content comes from: a path on the host, or an https URL, or an http URL with checksumValue. The content is streamed, never held in memory as a whole. With recurse, a directory on the host."},
			{Name: "sources", Doc: "Sources in order of preference: the first that exists is used."},
			{Name: "ca", Doc: "The only CA certificates, in PEM, that are trusted for the source's server. Default: the certificates that the system trusts."},
			{Name: "checksum", Doc: "How the content is compared with its source: sha256 (default, unless the server announces another checksum), sha512, sha384, sha224, sha1, md5, sha256lite, sha1lite, md5lite, mtime or none."},
			{Name: "checksumValue", Doc: "The checksum that the content must have. If the file already has it, the source is not contacted; downloaded content with another one is discarded."},
			{Name: "links", Doc: "manage (default) manages a link itself; follow manages its target."},
			{Name: "followParentLinks", Doc: "true follows each symlink on the way to path or source, regardless of its owner. Default: symlinks of root, and symlinks of owner in the owner's home directory."},
			{Name: "recurse", Doc: "true manages everything below the directory too."},
			{Name: "recurseScope", Doc: "All (default), or Source for only those entries that the source has."},
			{Name: "recurseLimit", Doc: "The number of levels that recurse descends; 1 covers the directory's own entries. Default: all."},
			{Name: "maxFiles", Doc: "The maximum number of files: more fail the resource before anything is changed. 0 (default) only warns above 1000; -1 never warns."},
			{Name: "ignore", Doc: "Shell globs: entries with such a base name, and everything below them, are ignored."},
			{Name: "purge", Doc: "true removes entries below the directory that are neither in the source nor managed by another File; directories require force."},
			{Name: "showDiff", Doc: "false keeps the diff of the content out of output. Default true."},
			{Name: "validateCmd", Doc: "A command that checks new content. The word % is the path of the staged file. If it fails, the old content stays."},
		},
		From: func(api any) (want Attributes, ok bool) {
			a, ok := api.(*v1alpha1.FileAttributes)
			if ok {
				a.DeepCopyInto(&want.FileAttributes)
			}
			return want, ok
		},
		Secrets: map[string]func(*Attributes, string){
			"content": func(a *Attributes, content string) { a.Content, a.secret = &content, true },
			"ca":      func(a *Attributes, pem string) { a.CA = &pem },
		},
		SecretEntries: map[string]func(*Attributes, string, string){"headers": addHeader},

		RecordSecrets: recordSecrets,

		NamevarName: "path",
		Namevar:     func(a *Attributes) *string { return &a.Path },
		Keys:        otherSpellings,
		Exists:      func(is Attributes) bool { return is.found.kind != entry.Absent },
		Normalize:   normalize,
		Location:    location,
		Default:     imply,
		OneOf: []resource.OneOf[Attributes]{
			{Attribute: "ensure", Value: func(a *Attributes) *string { return a.Ensure }, Words: []string{"present", "file", "directory", "link", "absent"}},
			{Attribute: "checksum", Value: func(a *Attributes) *string { return a.Checksum }, Words: []string{"sha256", "sha512", "sha384", "sha224", "sha1", "md5", "sha256lite", "sha1lite", "md5lite", "mtime", "none"}},
			{Attribute: "links", Value: func(a *Attributes) *string { return a.Links }, Words: []string{"manage", "follow"}},
			{Attribute: "recurseScope", Value: func(a *Attributes) *string { return a.RecurseScope }, Words: []string{"All", "Source"}},
		},
		Validate: validate,
		Deletion: &resource.Deletion[Attributes]{Delete: deleted, Restore: p.restored, Bound: func(want *Attributes) { want.deleting = true }},
		Traits:   resource.Traits{ReadAhead: true, AtomicWrites: true, BatchLimit: 128},
		Auto: []resource.AutoRelation[Attributes]{
			{Relation: resource.Require, Kind: "File", Names: ancestors, Nearest: true},
			{Relation: resource.Require, Kind: "File", Names: linkTarget},
			{Relation: resource.Require, Kind: "File", Names: sourceFiles},
			{Relation: resource.Require, Kind: "User", Names: func(want Attributes) []string { return account(want.Owner) }},
			{Relation: resource.Require, Kind: "Group", Names: func(want Attributes) []string { return account(want.Group) }},
		},
	}
	p.bind = func(ref resource.Ref, want Attributes) (resource.Resource, error) { return bound.New(t, ref, want) }
	t.Providers = []resource.Provider[Attributes]{p}
	return t
}

// imply sets ensure where other attributes imply it: content a file, target a link.
func imply(a *Attributes) {
	if a.Source == nil && len(a.Sources) > 0 {
		a.Source = new(a.Sources[0]) // until one is chosen
	}
	if a.Content != nil {
		a.contentSum = content.SHA256(*a.Content)
	}
	if !a.child {
		implyEnsure(a)
	}
}

func implyEnsure(a *Attributes) {
	switch {
	case a.Target != nil && (a.Ensure == nil || *a.Ensure == resource.Present):
		a.Ensure = new(string(entry.Link))
	case a.Ensure != nil:
	case a.Source != nil && ptr.Deref(a.Recurse, false):
		a.Ensure = new(string(entry.Directory))
	case a.Source != nil || a.Content != nil:
		a.Ensure = new(string(entry.Regular))
	}
}

// location is the path, if it is valid.
func location(a Attributes) string {
	switch {
	case !path.IsAbs(a.Path) || path.Clean(a.Path) != a.Path:
		return ""
	case ptr.Deref(a.Recurse, false):
		return resource.TreeLocation(a.Path)
	}
	return a.Path
}

func normalize(a *Attributes) {
	a.Path = trimSlashes(a.Path)
	if a.Confirm != nil {
		a.Confirm = new(trimSlashes(*a.Confirm))
	}
	if a.Source != nil {
		a.Source = new(strings.TrimPrefix(*a.Source, "file://"))
	}
	a.Sources = slices.Clone(a.Sources)
	for i, s := range a.Sources {
		a.Sources[i] = strings.TrimPrefix(s, "file://")
	}
	if a.ChecksumValue != nil {
		a.ChecksumValue = new(strings.ToLower(*a.ChecksumValue))
	}
	a.Owner, a.Group = owner.Normalize(a.Owner), owner.Normalize(a.Group)
}

// trimSlashes removes superfluous slashes. validate rejects . and .. later.
func trimSlashes(p string) string {
	for strings.Contains(p, "//") {
		p = strings.ReplaceAll(p, "//", "/")
	}
	if trimmed := strings.TrimSuffix(p, "/"); trimmed != "" {
		return trimmed
	}
	return p
}

// ancestors returns the directories above the path, the nearest first.
func ancestors(want Attributes) []string {
	var up []string
	for dir := want.Path; dir != "/" && dir != "."; {
		dir = path.Dir(dir)
		up = append(up, dir)
	}
	return up
}

// linkTarget returns the path that a link points to, by its text alone.
func linkTarget(want Attributes) []string {
	if want.Target == nil {
		return nil
	}
	to := *want.Target
	if !path.IsAbs(to) {
		to = path.Join(path.Dir(want.Path), to)
	}
	if to = path.Clean(to); to == want.Path || slices.Contains(ancestors(want), to) {
		return nil
	}
	return []string{to}
}

// sourceFiles returns the Files that the content may be copied from.
func sourceFiles(want Attributes) []string {
	return slices.DeleteFunc(sourceOf(want).Paths(), func(p string) bool { return p == want.Path })
}

func account(id *intstr.IntOrString) []string {
	if id == nil {
		return nil
	}
	return []string{id.String()}
}
