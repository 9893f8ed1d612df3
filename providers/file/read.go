package file

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/content"
	"github.com/fettle-dev/fettle/providers/file/entry"
	"github.com/fettle-dev/fettle/providers/file/filemode"
	"github.com/fettle-dev/fettle/providers/file/owner"
	"github.com/fettle-dev/fettle/providers/file/selinux"
	"github.com/fettle-dev/fettle/providers/file/source"
)

// posix manages files by the system calls that every host has.
type posix struct {
	accounts owner.Accounts
	sources  source.Reader
	now      func() time.Time
	bind     func(resource.Ref, Attributes) (resource.Resource, error)
}

// Name implements [resource.Provider].
func (posix) Name() string { return "posix" }

// Suits implements [resource.Provider].
func (posix) Suits(resource.Facts, host.Reader) error { return nil }

// place returns the place of a resource's file.
func (p posix) place(h resource.Reader, want Attributes) entry.Place {
	account := want.Owner // the closure must not move all of want to the heap
	return entry.Place{
		Path:  want.Path,
		Links: host.Links{Follow: followed(want), AtEnd: follows(want)},
		Home:  func() *host.Home { return p.accounts.Home(h, account) },
		Spot:  want.spot,
	}
}

// Read opens the path itself, not the target of a link. All that it returns is of one file,
// even if the path is replaced meanwhile. The content is read only if it is managed or
// audited.
func (p posix) Read(ctx context.Context, h resource.Reader, want Attributes) (is Attributes, err error) {
	is.Path = want.Path
	if err := p.checkRecursion(ctx, h, want); err != nil {
		return is, err
	}
	file, err := p.place(h, want).Lookup(h)
	if errors.Is(err, fs.ErrNotExist) {
		is.Ensure, is.found.kind = new(resource.Absent), entry.Absent
		return is, findSecretSource(h, &is, want)
	}
	if err != nil {
		return is, cannot("look at file", err)
	}
	defer file.Close()
	describe(&is, file.Info())
	return is, errors.Join(readTarget(file, &is), p.readContent(ctx, h, file, &is, want), p.readOwner(h, &is, want),
		p.readSetIDs(h, &is, want), readLabel(file, &is, want))
}

// ReadAudited implements [resource.Auditor].
func (p posix) ReadAudited(ctx context.Context, h resource.Reader, want Attributes, audited []string) (Attributes, error) {
	want.audited = audited
	return p.Read(ctx, h, want)
}

// describe copies the result of lstat. A kind that no resource can request is merely present.
func describe(is *Attributes, info host.FileInfo) {
	is.found = found{kind: entry.KindOf(info), size: info.Size, info: info}
	switch is.found.kind {
	case entry.Regular, entry.Directory, entry.Link:
		is.Ensure = new(string(is.found.kind))
	default:
		is.Ensure = new(resource.Present)
	}
	if is.found.kind != entry.Link {
		is.Mode = new(filemode.Format(info.Mode))
	}
}

func readTarget(file host.Handle, is *Attributes) error {
	if is.found.kind != entry.Link {
		return nil
	}
	text, err := file.Readlink()
	is.Target = &text
	return cannot("read link", err)
}

func (p posix) readContent(ctx context.Context, h resource.Reader, file host.Handle, is *Attributes, want Attributes) (err error) {
	algorithm := content.DefaultAlgorithm
	switch {
	case is.found.kind != entry.Regular:
		return findSecretSource(h, is, want)
	case want.Source != nil && managesContent(want):
		if is.found.source, err = p.sources.Look(ctx, h, sourceOf(want)); err != nil || is.found.source.Sum == "" {
			return err
		}
		algorithm = is.found.source.Algorithm
	case want.Content == nil && !auditing(want, "content"):
		return nil
	}
	return errors.Join(readSum(ctx, h, file, is, want, algorithm), p.hidePlanted(h, is, want))
}

func readSum(ctx context.Context, h resource.Reader, file host.Handle, is *Attributes, want Attributes, algorithm string) error {
	if differsBySize(*is, want) {
		return hideSecret(h, is, want, "")
	}
	c, err := content.Read(ctx, file.Open, is.found.size, algorithm, want.contentSum)
	is.found.sum, is.found.size, is.Content = c.Sum, c.Size, c.Text
	if err != nil {
		return err
	}
	return hideSecret(h, is, want, c.SHA256)
}

// maxUnequal is the size in bytes of the largest content that is read although its size alone
// shows that it differs from the desired one. A user can make a sparse file of any size.
const maxUnequal = 16 << 20

// differsBySize reports whether a large content need not be read to know that it differs.
func differsBySize(is, want Attributes) bool {
	size := int64(-1)
	switch v := is.found.source; {
	case want.Content != nil && replaces(want):
		size = int64(len(*want.Content))
	case v.File != nil && !strings.HasSuffix(v.Algorithm, "lite"):
		size = v.File.Size
	}
	return size >= 0 && size != is.found.size && is.found.size > maxUnequal
}

func (p posix) readOwner(h resource.Reader, is *Attributes, want Attributes) (err error) {
	read := func(kind owner.Kind, want *intstr.IntOrString, id int, audited bool) *intstr.IntOrString {
		if err != nil || want == nil && !audited {
			return nil
		}
		var shown *intstr.IntOrString
		shown, err = p.accounts.Show(h, kind, want, id)
		return shown
	}
	is.Owner = read(owner.User, want.Owner, is.found.info.UID, auditing(want, "owner"))
	is.Group = read(owner.Group, want.Group, is.found.info.GID, auditing(want, "group"))
	return err
}

// readSetIDs finds out which set-ID bits of a file a symbolic mode preserves: none with a change of the owner or group, which clears
// them.
func (p posix) readSetIDs(h resource.Reader, is *Attributes, want Attributes) error {
	if is.found.kind != entry.Regular || is.found.info.Mode&filemode.SetIDs == 0 || want.Mode == nil || filemode.IsOctal(*want.Mode) {
		return nil
	}
	if !inSyncID(is.Owner, want.Owner) || !inSyncID(is.Group, want.Group) {
		return nil
	}
	dir, _, err := p.place(h, want).LookupParent(h)
	if err != nil {
		return cannot("look at directory", err)
	}
	defer dir.Close()
	is.found.setIDs, err = filemode.TrustedSetIDs(dir, is.found.info)
	return err
}

func readLabel(file host.Handle, is *Attributes, want Attributes) error {
	if !labelOf(want).Managed() && !auditing(want, "seluser", "selrole", "seltype", "selrange") {
		return nil
	}
	l, err := selinux.Read(file)
	is.Seluser, is.Selrole, is.Seltype, is.Selrange = l.User, l.Role, l.Type, l.Range
	return err
}
