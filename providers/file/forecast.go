package file

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/entry"
)

// PrecheckRead implements [resource.ReadPrechecker]: an apply finds what earlier resources have made of the source and of the
// directories above the path.
func (p posix) PrecheckRead(_ context.Context, h resource.Reader, is, want Attributes) error {
	if err := p.doubtOwner(h, is, want); err != nil {
		return err
	}
	return errors.Join(p.doubtLink(h, want), p.doubtPath(h, is, want), doubtSource(h, is, want), doubtTree(h, want))
}

// doubtOwner considers that an earlier User or Group may renumber the owner or the group of the file, or make, move or remove the home
// that it is in.
func (p posix) doubtOwner(h resource.Reader, is, want Attributes) error {
	info := is.found.info
	why := p.accounts.Stale(h, want.Path, is.found.kind != entry.Absent, info.UID, info.GID, want.Owner, want.Group)
	if why == "" {
		return nil
	}
	return doubt("%s", why)
}

func doubt(format string, args ...any) error {
	return &resource.UnknownError{Reason: fmt.Sprintf(format, args...)}
}

// doubtLink considers that the path leads through a link that is not there yet: nothing is certain there.
func (p posix) doubtLink(h resource.Reader, want Attributes) error {
	if kind, planned := p.plannedParent(h, want); planned && kind == entry.Link {
		return doubt("follows a link that is planned")
	}
	return nil
}

// doubtPath considers that another file may be at the path, or none. Where one is to be made, precheckParent tells whether it can be.
func (p posix) doubtPath(h resource.Reader, is, want Attributes) error {
	if kind, planned := p.plannedParent(h, want); planned && kind != entry.Link && is.found.kind != entry.Absent {
		return doubt("%s is planned", path.Dir(want.Path))
	}
	return nil
}

// doubtSource considers that the source may get another content. A file that is created is created with any content.
func doubtSource(h resource.Reader, is, want Attributes) error {
	if !managesContent(want) || is.found.kind != entry.Regular && is.found.kind != entry.Absent {
		return nil
	}
	for _, from := range sourceOf(want).Paths() {
		kind, planned := plannedKind(h, from)
		if planned && (is.found.kind == entry.Regular || kind != entry.Regular) || is.found.kind == entry.Regular && plannedContent(h, from) {
			return doubt("copies %s, which is planned", from)
		}
	}
	return nil
}

// doubtTree considers that a directory that is copied may get or lose entries. Those that it has are doubted by themselves.
func doubtTree(h resource.Reader, want Attributes) error {
	if !ptr.Deref(want.Recurse, false) {
		return nil
	}
	for w := range plannedFiles(h) {
		for _, from := range sourceOf(want).Paths() {
			if changes(w.Changes).has(resource.Ensure) && host.IsBelow(canonical(w.Want.Path), canonical(from)) {
				return doubt("copies %s, which is planned", w.Want.Path)
			}
		}
	}
	return nil
}

// plannedKind returns what the earlier resources of a plan would make of a path, by the last of them that creates, replaces or removes it
// or a directory above it.
func plannedKind(h resource.Reader, name string) (kind entry.Kind, planned bool) {
	if name = canonical(name); !isPlanned(h, name) {
		return "", false
	}
	for w := range plannedFiles(h) {
		if !changes(w.Changes).has(resource.Ensure) && !changes(w.Changes).has("target") {
			continue
		}
		switch made, at := madeKind(w.Want), canonical(w.Want.Path); {
		case at == name, host.IsBelow(name, at) && made == entry.Link:
			kind, planned = made, true
		case host.IsBelow(name, at): // a new directory is empty
			kind, planned = entry.Absent, true
		}
	}
	return kind, planned
}

// isPlanned reports whether the earlier resources of a plan would change a path or a directory above it: it spares a look at all of them.
func isPlanned(h resource.Reader, name string) bool {
	files := resource.PlannedNames(h, "File")
	for ; ; name = path.Dir(name) {
		if _, planned := files[name]; planned || name == path.Dir(name) {
			return planned
		}
	}
}

// plannedContent reports whether the earlier resources of a plan would give a file another content.
func plannedContent(h resource.Reader, name string) bool {
	if !isPlanned(h, canonical(name)) {
		return false
	}
	for w := range plannedFiles(h) {
		if changes(w.Changes).has("content") && canonical(w.Want.Path) == canonical(name) {
			return true
		}
	}
	return false
}

func plannedFiles(h resource.Reader) iter.Seq[resource.Write[Attributes]] {
	return func(yield func(resource.Write[Attributes]) bool) {
		for _, w := range resource.Planned(h) {
			if w, is := w.(resource.Write[Attributes]); is && !yield(w) {
				return
			}
		}
	}
}

// madeKind is what a File makes of its path.
func madeKind(want Attributes) entry.Kind {
	if made := ensure(want); made != resource.Present && made != "" {
		return entry.Kind(made)
	}
	return entry.Regular
}
