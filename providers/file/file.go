// Package file is the resource type File: the files, directories and symlinks of a host.
//
// This file says what a File is; properties.go what is compared, posix.go how a host
// is read and write.go how it is changed. What mode means stands alone in mode.go.
package file

import (
	_ "embed"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

//go:embed doc.md
var doc string

//go:embed example.yaml
var example string

// Attributes are a File's, and what only reading a host can tell.
type Attributes struct {
	v1alpha1.FileAttributes
	found found
	// audited are properties to be read whether they are managed or not; nil in what a
	// user wrote.
	audited []string
	// contentSum is the SHA-256 of the content in what a user wrote; "" where that has none.
	contentSum string
	// child says that a File that recurses brought it along, which was validated.
	child bool
	// secret says that nobody is to see the content.
	secret bool
	// headers are to be sent to the server of the source, and shown to nobody.
	headers []fetch.Header
	// leaving says that no resource is about it any more.
	leaving bool
	// at and copied are where a File that recurses has found this one and its source: they
	// are opened there and nowhere else. nil in what a user wrote.
	at, copied *spot
}

// found is what lies at a path, beyond what can be asked for. Zero in what a user
// wrote.
type found struct {
	what entry
	// mode is the twelve permission bits.
	mode     uint32
	uid, gid int
	// sum of the content of a regular file, "" where it was not read; by SHA-256
	// unless the origin has another algorithm.
	sum string
	// info is what the host said of it.
	info host.FileInfo
	// setIDs are the set-ID bits that nobody but root can have set.
	setIDs uint32
	// origin is what the source said at the same time.
	origin origin
	// size of the content in bytes: as it was read, or as the host said where sum is "".
	size int64
	// secret says that the content, or that of the origin, is recorded as a secret.
	secret bool
}

// An entry is what lies at a path. It is shown as the value of ensure.
type entry string

// The kinds of entries. A resource can only ask for some of them.
const (
	absent    entry = resource.Absent
	regular   entry = "file"
	directory entry = "directory"
	link      entry = "link"
	fifo      entry = "fifo"
	socket    entry = "socket"
	device    entry = "device"
)

// Type is the type File. remote brings the contents whose source is a URL.
func Type(remote fetch.Source) *resource.Type[Attributes] {
	p := posix{known: new(accounts.Cache), remote: remote, seen: new(memory)}
	t := &resource.Type[Attributes]{
		Name:       "File",
		Doc:        doc,
		Example:    example,
		Features:   []resource.FeatureDoc{{Name: labels, Doc: "Labels of SELinux can be read and set. A host that has SELinux has it."}},
		Properties: append(properties(), auditOnly()...),
		Parameters: []resource.Parameter{
			{Name: "confirm", Doc: "The path, to have a directory removed or purged that the host does not work without."},
			{Name: "force", Doc: "Lets a directory be removed, or be replaced by something else, with all that is in it."},
			{Name: "replace", Doc: "false only creates: what is there already keeps its content. Default true."},
			{Name: "backup", Doc: "Where the old content goes before it is replaced or removed: Bucket (default), None, or beside the file with a suffix such as .bak."},
			{Name: "source", Doc: "Where the content comes from: a path on the host, or an https URL, or an http URL with checksumValue. It is copied as it arrives, never held as a whole. With recurse, a directory on the host."},
			{Name: "sources", Doc: "Sources that are tried in turn: the first that exists is the source."},
			{Name: "ca", Doc: "The certificates, in PEM, that alone may sign that of the server in source. Default the system's."},
			{Name: "checksum", Doc: "How the content is compared with its source: sha256 (default, unless the server announces another sum), sha512, sha384, sha224, sha1, md5, sha256lite, sha1lite, md5lite, mtime or none."},
			{Name: "checksumValue", Doc: "The sum that the content must have. A file that has it needs no source; what arrives with another is discarded."},
			{Name: "links", Doc: "manage (default) is about a link itself, follow about what it leads to."},
			{Name: "followParentLinks", Doc: "true follows each symlink on the way to path or source, whoever it belongs to. Default: those of root, and those of owner in their home."},
			{Name: "recurse", Doc: "true is about all that is below the directory too."},
			{Name: "recurseScope", Doc: "All (default), or Source for only what the source has."},
			{Name: "recurseLimit", Doc: "How many levels down recurse goes; 1 is the directory's own entries. Default all."},
			{Name: "maxFiles", Doc: "More files fail the resource before anything is changed; 0 (default) only warns above 1000, -1 never."},
			{Name: "ignore", Doc: "Shell globs: what has such a base name, and all below it, is left alone."},
			{Name: "purge", Doc: "true removes what is below the directory, neither in the source nor managed by another File; directories need force."},
			{Name: "showDiff", Doc: "false keeps the diff of the content out of output. Default true."},
			{Name: "validateCmd", Doc: "A command that checks new content. The word % is the path of the staged file. When it fails the old content stays."},
		},
		From: func(api any) (want Attributes, ok bool) {
			a, ok := api.(*v1alpha1.FileAttributes)
			if ok {
				a.DeepCopyInto(&want.FileAttributes)
			}
			return want, ok
		},
		Secrets: map[string]func(*Attributes, string){
			"content": keepSecret,
			"ca":      func(a *Attributes, pem string) { a.CA = &pem },
		},
		SecretEntries: map[string]func(*Attributes, string, string){"headers": addHeader},

		RecordSecrets: recordSecrets,

		NamevarName: "path",
		Namevar:     func(a *Attributes) *string { return &a.Path },
		Exists:      func(is Attributes) bool { return is.found.what != absent },
		Normalize:   normalize,
		Default:     imply,
		OneOf: []resource.OneOf[Attributes]{
			{Attribute: "ensure", Value: func(a *Attributes) *string { return a.Ensure }, Words: []string{"present", "file", "directory", "link", "absent"}},
			{Attribute: "checksum", Value: func(a *Attributes) *string { return a.Checksum }, Words: []string{"sha256", "sha512", "sha384", "sha224", "sha1", "md5", "sha256lite", "sha1lite", "md5lite", "mtime", "none"}},
			{Attribute: "links", Value: func(a *Attributes) *string { return a.Links }, Words: []string{"manage", "follow"}},
			{Attribute: "recurseScope", Value: func(a *Attributes) *string { return a.RecurseScope }, Words: []string{"All", "Source"}},
		},
		Validate:   validate,
		Leaving:    &resource.Leaving[Attributes]{Gone: gone, Former: p.former, Bound: func(want *Attributes) { want.leaving = true }},
		ReadAhead:  true,
		BatchLimit: 128,
		Auto: []resource.AutoRelation[Attributes]{
			{Relation: resource.Require, Kind: "File", Names: ancestors, Nearest: true},
			{Relation: resource.Require, Kind: "File", Names: leadsTo},
			{Relation: resource.Require, Kind: "File", Names: fromHost},
			{Relation: resource.Require, Kind: "User", Names: func(want Attributes) []string { return account(want.Owner) }},
			{Relation: resource.Require, Kind: "Group", Names: func(want Attributes) []string { return account(want.Group) }},
		},
	}
	p.bind = t.Of
	t.Providers = []resource.Provider[Attributes]{p}
	return t
}

// imply fills in what goes without saying: content makes a file, a target a link.
func imply(a *Attributes) {
	if a.Source == nil && len(a.Sources) > 0 {
		a.Source = new(a.Sources[0]) // until it is chosen
	}
	if a.Content != nil {
		a.contentSum = checksum(*a.Content)
	}
	if !a.child {
		implyEnsure(a)
	}
}

func implyEnsure(a *Attributes) {
	switch {
	case a.Source != nil && a.Ensure == nil:
		a.Ensure = new(string(sourceKind(*a)))
	case a.Target != nil && (a.Ensure == nil || *a.Ensure == resource.Present):
		a.Ensure = new(string(link))
	case a.Content != nil && a.Ensure == nil:
		a.Ensure = new(string(regular))
	}
}

// sourceKind is what the source has to be.
func sourceKind(a Attributes) entry {
	if recurses(a) {
		return directory
	}
	return regular
}

func normalize(a *Attributes) {
	a.Path = squeeze(a.Path)
	if a.Confirm != nil {
		a.Confirm = new(squeeze(*a.Confirm))
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
	a.Owner, a.Group = normalID(a.Owner), normalID(a.Group)
}

// squeeze takes away the slashes that mean nothing. It leaves . and .. to be refused.
func squeeze(p string) string {
	for strings.Contains(p, "//") {
		p = strings.ReplaceAll(p, "//", "/")
	}
	if trimmed := strings.TrimSuffix(p, "/"); trimmed != "" {
		return trimmed
	}
	return p
}

// normalID turns a number in quotes into a number, or into its shortest form where
// the API's integers are too small for it.
func normalID(id *intstr.IntOrString) *intstr.IntOrString {
	if id == nil || id.Type == intstr.Int {
		return id
	}
	n, numeric := parseID(id.StrVal)
	switch {
	case !numeric:
		return id
	case n < math.MinInt32 || n > math.MaxInt32:
		return new(intstr.FromString(strconv.FormatInt(n, 10)))
	}
	return new(intstr.FromInt32(int32(n)))
}

// ancestors are the directories above, the nearest first.
func ancestors(want Attributes) []string {
	var up []string
	for dir := want.Path; dir != "/" && dir != "."; {
		dir = path.Dir(dir)
		up = append(up, dir)
	}
	return up
}

// leadsTo is where a link leads, by its text alone.
func leadsTo(want Attributes) []string {
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

func account(id *intstr.IntOrString) []string {
	if id == nil {
		return nil
	}
	return []string{id.String()}
}
