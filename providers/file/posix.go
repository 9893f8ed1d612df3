package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/fetch"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/filemode"
)

// posix manages files by the system calls that every host has.
type posix struct {
	known  *accounts.Cache
	remote fetch.Source
	seen   *memory
	bind   func(resource.Ref, Attributes) (resource.Resource, error)
}

func (posix) Name() string { return "posix" }

func (posix) Suits(resource.Facts, host.Reader) error { return nil }

// Read looks at the path itself, never at where a link leads. All that it tells is of one
// file, whatever happens to the path meanwhile. The content is read only if it is asked for,
// or if nothing is.
func (p posix) Read(ctx context.Context, h resource.Reader, want Attributes) (is Attributes, err error) {
	is.Path = want.Path
	if recurses(want) {
		if want, err = p.choose(ctx, h, want); err != nil {
			return is, err
		}
	}
	if err := p.survey(h, want); err != nil {
		return is, err
	}
	node, err := p.lookup(h, want)
	if errors.Is(err, fs.ErrNotExist) {
		is.Ensure, is.found.what = new(resource.Absent), absent
		return is, nil
	}
	if err != nil {
		return is, cannot("look at file", err)
	}
	defer node.Close()
	describe(&is, node.Info())
	return is, errors.Join(readTarget(node, &is), p.readText(ctx, h, node, &is, want), p.readOwner(h, &is, want),
		p.readTrust(h, &is, want), readLabel(node, &is, want))
}

// describe takes over what lstat says. What cannot be asked for is merely present.
func describe(is *Attributes, info host.FileInfo) {
	is.found = found{what: kindOf(info), mode: info.Mode, uid: info.UID, gid: info.GID, size: info.Size, info: info}
	switch is.found.what {
	case regular, directory, link:
		is.Ensure = new(string(is.found.what))
	default:
		is.Ensure = new(resource.Present)
	}
	if is.found.what != link {
		is.Mode = new(filemode.Format(info.Mode))
	}
}

func kindOf(info host.FileInfo) entry {
	switch info.Type {
	case 0:
		return regular
	case fs.ModeDir:
		return directory
	case fs.ModeSymlink:
		return link
	case fs.ModeNamedPipe:
		return fifo
	case fs.ModeSocket:
		return socket
	default:
		return device
	}
}

func readTarget(node host.Handle, is *Attributes) error {
	if is.found.what != link {
		return nil
	}
	text, err := node.Readlink()
	is.Target = &text
	return cannot("read link", err)
}

func (p posix) readText(ctx context.Context, h resource.Reader, node host.Handle, is *Attributes, want Attributes) (err error) {
	how := sumDefault
	switch {
	case is.found.what != regular:
		return nil
	case want.Source != nil && !recurses(want) && replaces(want):
		if want, is.found.origin, err = p.askChosen(ctx, h, want); err != nil || is.found.origin.sum == "" {
			return err
		}
		how = is.found.origin.algorithm
	case want.Content == nil && !asksFor(want, "content"):
		return nil
	}
	return sumUp(ctx, h, node, is, want, how)
}

// sumUp reads the content, unless it is huge and its size alone tells that it is another one.
func sumUp(ctx context.Context, h resource.Reader, node host.Handle, is *Attributes, want Attributes, how string) error {
	if size := desiredSize(want, is.found.origin); size >= 0 && size != is.found.size && is.found.size > maxUnequal {
		return hideSecret(h, is, want, "")
	}
	c, err := readContent(ctx, node.Open, is.found.size, how, want.contentSum)
	is.found.sum, is.found.size, is.Content = c.sum, c.size, c.text
	if err != nil {
		return err
	}
	return hideSecret(h, is, want, c.sha256)
}

// desiredSize is the size of the desired content in bytes, -1 if it is not known or may differ.
func desiredSize(want Attributes, o origin) int64 {
	switch {
	case want.Content != nil && replaces(want):
		return int64(len(*want.Content))
	case o.read && !strings.HasSuffix(o.algorithm, "lite"):
		return o.size
	}
	return -1
}

// askChosen asks the first source that exists, and returns the File with it. With a checksumValue
// no source has to be chosen.
func (p posix) askChosen(ctx context.Context, h resource.Reader, want Attributes) (chosen Attributes, o origin, err error) {
	if want.ChecksumValue == nil {
		if want, err = p.choose(ctx, h, want); err != nil {
			return want, origin{}, err
		}
	}
	o, err = p.ask(ctx, h, want)
	return want, o, err
}

// asksForChildren tells whether there is anything that what lies below could lack.
func asksForChildren(want Attributes) bool {
	return want.Owner != nil || want.Group != nil || want.Mode != nil || asksForLabel(want)
}

func (p posix) readOwner(h resource.Reader, is *Attributes, want Attributes) error {
	owner, err := user.shown(h, p.known, want.Owner, is.found.uid, asksFor(want, "owner"))
	if err != nil {
		return err
	}
	group, err := group.shown(h, p.known, want.Group, is.found.gid, asksFor(want, "group"))
	is.Owner, is.Group = owner, group
	return err
}

// cannot says what was tried when the host refused.
func cannot(verb string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot %s: %w", verb, err)
}

// readTrust finds out which set-ID bits of a file count: a symbolic mode keeps no others.
func (p posix) readTrust(h resource.Reader, is *Attributes, want Attributes) error {
	if is.found.what != regular || is.found.mode&filemode.SetIDs == 0 || want.Mode == nil || filemode.IsOctal(*want.Mode) {
		return nil
	}
	dir, err := p.lookupParent(h, want)
	if err != nil {
		return cannot("look at directory", err)
	}
	defer dir.Close()
	is.found.setIDs, err = filemode.TrustedSetIDs(dir, is.found.info)
	return err
}
