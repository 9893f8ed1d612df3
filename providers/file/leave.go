package file

import (
	"context"
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/filemode"
)

// gone removes what is at the path, a directory with all that is in it where force was set,
// and else once it is empty.
func gone(want Attributes) Attributes {
	return Attributes{FileAttributes: v1alpha1.FileAttributes{
		Path: want.Path, Ensure: new(resource.Absent), Force: want.Force, Confirm: want.Confirm, Links: want.Links, Backup: new(backs(want)),
	}}
}

// former is what changes replace. What is in a directory that makes room for something
// else does not come back.
func (p posix) former(ctx context.Context, h resource.Writer, is, want Attributes, changes []resource.Change) (Attributes, error) {
	var was Attributes
	all := false
	for _, c := range changes {
		switch c.Property {
		case resource.Ensure:
			all = true
			was.Ensure = new(string(is.found.what))
		case "content":
			was.Ensure = new(string(regular))
		case "target":
			was.Ensure, was.Target = new(string(link)), is.Target
		}
		was.keep(c.Property, is)
	}
	if all {
		was.keepAll(is)
	}
	if is.found.what == regular && wants(was) == string(regular) {
		return was, p.keepContent(ctx, h, &was, is, want)
	}
	return was, nil
}

// keep takes a property over, in numbers: names may go.
func (a *Attributes) keep(property string, is Attributes) {
	switch property {
	case "owner":
		a.Owner = numbered(is.found.uid)
	case "group":
		a.Group = numbered(is.found.gid)
	case "mode":
		a.Mode = new(filemode.Format(is.found.mode))
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

// keepAll takes over all that something is which comes or goes. What nobody can ask for,
// as a fifo, does not come back.
func (a *Attributes) keepAll(is Attributes) {
	switch is.found.what {
	case regular, directory, link:
		a.Target = is.Target
		a.keep("owner", is)
		a.keep("group", is)
		if is.found.what != link {
			a.keep("mode", is)
		}
	default:
		*a = Attributes{FileAttributes: v1alpha1.FileAttributes{Ensure: new(resource.Absent)}}
	}
}

// keepContent has the content brought back from the bucket: that of the file that was read, and
// of no other that has its name by now. A secret's predecessor may well be one, and is never
// kept: the schema has such a resource not say Restore.
func (p posix) keepContent(ctx context.Context, h resource.Writer, was *Attributes, is, want Attributes) error {
	if want.secret {
		return errors.New("what a secret replaces is never kept, so that it can't be restored: use deletionPolicy Delete or Orphan")
	}
	file, err := p.lookup(h, want)
	if err != nil {
		return cannot("look at file", err)
	}
	defer file.Close()
	if !file.Info().Unchanged(is.found.info) {
		return fmt.Errorf("cannot keep %s to restore it: %w", want.Path, host.ErrChanged)
	}
	kept := h.Bucket()
	sum, err := kept.Save(ctx, file, want.Path)
	if err != nil {
		return fmt.Errorf("cannot keep %s to restore it; will not change it: %w", want.Path, err)
	}
	was.Source, was.ChecksumValue = new(kept.Path(sum)), &sum
	return p.keepReaders(h, was, is, want)
}

// keepReaders has the content come back for those alone who could read it: by then the file may be a user's.
func (p posix) keepReaders(h resource.Reader, was *Attributes, is, want Attributes) error {
	was.keep("owner", is)
	was.keep("group", is)
	if was.Mode != nil {
		return nil
	}
	dir, err := p.lookupParent(h, want)
	if err != nil {
		return cannot("look at directory", err)
	}
	defer dir.Close()
	trusted, err := filemode.TrustedSetIDs(dir, is.found.info)
	was.Mode = new(filemode.Format(is.found.mode&^filemode.SetIDs | trusted))
	return err
}

// rmdir removes a directory that nothing is in any more.
func (w *write) rmdir() error {
	names, err := w.old.ReadDir()
	if err == nil && len(names) > 0 {
		return fmt.Errorf("cannot remove directory %s: its resource did not manage what is in it, as %q: move that away", w.want.Path, names[0])
	}
	if err == nil {
		err = w.dir.Remove(w.name, nil)
	}
	return cannot("remove directory", err)
}
