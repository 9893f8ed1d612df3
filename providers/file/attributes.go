package file

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/backup"
	"github.com/fettle-dev/fettle/providers/file/entry"
	"github.com/fettle-dev/fettle/providers/file/filemode"
	"github.com/fettle-dev/fettle/providers/file/selinux"
	"github.com/fettle-dev/fettle/providers/file/source"
)

// Attributes are the attributes of a File, and the state that only a read of the host can determine.
type Attributes struct {
	v1alpha1.FileAttributes
	found found
	// audited has the properties to read even if they are not managed; nil for none.
	audited []string
	// contentSum is the SHA-256 of the desired content; "" without content.
	contentSum string
	// child is set if a recursive File generated and validated this one.
	child bool
	// secret is set if the content must not be shown.
	secret bool
	// headers are sent to the server of the source, and must not be shown.
	headers []fetch.Header
	// deleting is set if the file is removed because its resource was deleted.
	deleting bool
	// spot and sourceSpot are where a recursive File found this one and its source: they are
	// opened there and nowhere else. Both are nil for a File from a manifest.
	spot, sourceSpot *entry.Spot
}

// found is the state at a path beyond the attributes. It is zero in the desired state.
type found struct {
	kind entry.Kind
	info host.FileInfo
	// sum is the checksum of the content of a regular file, "" if it was not read; by SHA-256,
	// unless the source has another algorithm.
	sum string
	// size is the size of the content in bytes: as read, or from info if sum is "".
	size int64
	// setIDs has the set-ID bits that only root can have set.
	setIDs uint32
	// source is the version of the source at the same time.
	source source.Version
	// secret is set if the content of the file or of the source is recorded as a secret.
	secret bool
}

// Values of links and recurseScope.
const (
	linksFollow = "follow"
	scopeSource = "Source"
)

// ensure returns "" if it is not managed.
func ensure(a Attributes) string { return ptr.Deref(a.Ensure, "") }

// replaces reports whether something else at the path is replaced.
func replaces(a Attributes) bool { return ptr.Deref(a.Replace, true) }

func follows(a Attributes) bool { return ptr.Deref(a.Links, "") == linksFollow }

// onlySource reports whether entries missing from the source are left alone.
func onlySource(a Attributes) bool { return ptr.Deref(a.RecurseScope, "") == scopeSource }

// hidesContent reports whether no part of the content may be shown.
func hidesContent(a Attributes) bool { return a.secret || !ptr.Deref(a.ShowDiff, true) }

// backupTo returns the destination of the old content. Hidden content is not copied either,
// unless backup is set. The predecessor of a secret is never copied, because it may be
// one too.
func backupTo(a Attributes) string {
	switch {
	case a.secret:
		return backup.None
	case a.Backup != nil:
		return *a.Backup
	case hidesContent(a):
		return backup.None
	}
	return backup.ToBucket
}

func labelOf(a Attributes) selinux.Label {
	return selinux.Label{User: a.Seluser, Role: a.Selrole, Type: a.Seltype, Range: a.Selrange}
}

func sourceOf(a Attributes) source.Source {
	return source.Source{
		Location: ptr.Deref(a.Source, ""), Alternatives: a.Sources, Checksum: a.Checksum, ChecksumValue: a.ChecksumValue,
		CA: a.CA, Headers: a.headers, Follow: followed(a), Spot: a.sourceSpot,
	}
}

// followed returns which symlinks are followed for any owner.
func followed(a Attributes) host.FollowLinks {
	if ptr.Deref(a.FollowParentLinks, false) {
		return host.FollowAll
	}
	return host.FollowRoots
}

// managesMetadata reports whether an owner, mode or label is managed, which all entries below
// a directory could lack.
func managesMetadata(a Attributes) bool {
	return a.Owner != nil || a.Group != nil || a.Mode != nil || labelOf(a).Managed()
}

// auditing reports whether one of these properties is read though it is not managed: one that
// is audited, or any if nothing is managed, as when a file is only listed.
func auditing(want Attributes, properties ...string) bool {
	if want.audited != nil {
		return slices.ContainsFunc(properties, func(p string) bool { return slices.Contains(want.audited, p) })
	}
	return want.Ensure == nil && !managesMetadata(want) && !want.child
}

// removalRefused returns an error if an entry of this kind must not be removed or replaced.
func removalRefused(kind entry.Kind, want Attributes) error {
	verb := "replace"
	if ensure(want) == resource.Absent {
		verb = "remove"
	}
	switch {
	case kind == entry.Device:
		return fmt.Errorf("cannot %s %s: it is a device: remove it by hand, or use another path", verb, want.Path)
	case kind == entry.Directory && !ptr.Deref(want.Force, false):
		return fmt.Errorf("cannot %s %s: it is a directory: set force: true to delete it with its contents", verb, want.Path)
	}
	return nil
}

// noContent returns an error if an entry of this kind can't have the content.
func noContent(kind entry.Kind, want Attributes) error {
	if kind == entry.Regular {
		return nil
	}
	return fmt.Errorf("%s is a %s, which has no content: set ensure: file to replace it, or remove content", want.Path, kind)
}

// desiredMode applies the mode to bits; it returns them as they are if the mode is not
// managed. Validation has made sure that it parses.
func desiredMode(want Attributes, bits uint32, dir bool) uint32 {
	if want.Mode == nil {
		return bits
	}
	mode, err := filemode.Apply(*want.Mode, bits, dir)
	if err != nil {
		return bits
	}
	return mode
}

// newFileMode returns the mode of a file that is created: without a mode, nobody but root can read a secret.
func newFileMode(is, want Attributes) uint32 {
	if want.secret || is.found.secret {
		return desiredMode(want, 0o600, false)
	}
	return desiredMode(want, 0o644, false)
}

// base returns the bits that a symbolic mode is applied to.
func (f found) base() uint32 {
	if f.kind != entry.Regular {
		return f.info.Mode
	}
	return f.info.Mode&^filemode.SetIDs | f.setIDs
}

func cannot(verb string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot %s: %w", verb, err)
}
