package file

import (
	"context"
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/entry"
	"github.com/fettle-dev/fettle/providers/file/filemode"
	"github.com/fettle-dev/fettle/providers/file/owner"
)

// deleted removes the entry at the path. A directory that is not empty needs force.
func deleted(want Attributes) Attributes {
	return Attributes{FileAttributes: v1alpha1.FileAttributes{
		Path: want.Path, Ensure: new(resource.Absent), Force: want.Force, Confirm: want.Confirm, Links: want.Links, Backup: new(backupTo(want)),
	}}
}

// restored returns the state that changes replace. The contents of a directory that is replaced by
// something else are not restored.
func (p posix) restored(ctx context.Context, h resource.Writer, is, want Attributes, changes []resource.Change) (Attributes, error) {
	var was Attributes
	all := false
	for _, c := range changes {
		switch c.Property {
		case resource.Ensure:
			all = true
			was.Ensure = new(string(is.found.kind))
		case "content":
			was.Ensure = new(string(entry.Regular))
		case "target":
			was.Ensure, was.Target = new(string(entry.Link)), is.Target
		}
		was.restore(c.Property, is)
	}
	if all {
		was.restoreAll(is)
	}
	if is.found.kind == entry.Regular && ensure(was) == string(entry.Regular) {
		return was, p.restoreContent(ctx, h, &was, is, want)
	}
	return was, nil
}

// restore copies a property, and accounts as numbers: names may be deleted.
func (a *Attributes) restore(property string, is Attributes) {
	switch property {
	case "owner":
		a.Owner = owner.Number(is.found.info.UID)
	case "group":
		a.Group = owner.Number(is.found.info.GID)
	case "mode":
		a.Mode = new(filemode.Format(is.found.info.Mode))
	case "seluser":
		a.Seluser = is.Seluser
	case "selrole":
		a.Selrole = is.Selrole
	case "seltype":
		a.Seltype = is.Seltype
	case "selrange":
		a.Selrange = is.Selrange
	}
}

// restoreAll copies all properties of a file that is created or removed. A kind that no
// resource can ask for, such as a fifo, is not restored.
func (a *Attributes) restoreAll(is Attributes) {
	switch is.found.kind {
	case entry.Regular, entry.Directory, entry.Link:
		a.Target = is.Target
		a.restore("owner", is)
		a.restore("group", is)
		if is.found.kind != entry.Link {
			a.restore("mode", is)
		}
	default:
		*a = Attributes{FileAttributes: v1alpha1.FileAttributes{Ensure: new(resource.Absent)}}
	}
}

// restoreContent saves the content of the file that was read, and of no other that has taken its name
// by now, in the bucket, from which it is restored. The predecessor of a secret may be a secret
// too and is never saved; the schema does not allow such a resource to say Restore.
func (p posix) restoreContent(ctx context.Context, h resource.Writer, was *Attributes, is, want Attributes) error {
	if want.secret {
		return errors.New("content that a secret replaces is never saved, so it cannot be restored: use deletionPolicy Delete or Orphan")
	}
	file, err := p.place(h, want).Lookup(h)
	if err != nil {
		return cannot("look at file", err)
	}
	defer file.Close()
	if !file.Info().Unchanged(is.found.info) {
		return fmt.Errorf("cannot save %s to restore it later: %w", want.Path, host.ErrChanged)
	}
	b := h.Bucket()
	sum, err := b.Save(ctx, file, want.Path)
	if err != nil {
		return fmt.Errorf("cannot save %s to restore it later; will not change it: %w", want.Path, err)
	}
	was.Source, was.ChecksumValue = new(b.Path(sum)), &sum
	return p.restoreAccess(h, was, is, want)
}

// restoreAccess makes sure that the restored content is readable only by those who could read
// it: by then the file may belong to another user.
func (p posix) restoreAccess(h resource.Writer, was *Attributes, is, want Attributes) error {
	was.restore("owner", is)
	was.restore("group", is)
	if was.Mode != nil {
		return nil
	}
	dir, _, err := p.place(h, want).LookupParent(h)
	if err != nil {
		return cannot("look at directory", err)
	}
	defer dir.Close()
	trusted, err := filemode.TrustedSetIDs(dir, is.found.info)
	was.Mode = new(filemode.Format(is.found.info.Mode&^filemode.SetIDs | trusted))
	return err
}
