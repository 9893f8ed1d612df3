package file

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fettle-dev/fettle/internal/resource"
)

// Precheck implements [resource.Prechecker]: it finds what Write would stumble over and that
// can be seen before, a directory in the way, a missing parent, account or source.
func (p posix) Precheck(ctx context.Context, h resource.Reader, writes []resource.Write[Attributes]) []error {
	errs := make([]error, len(writes))
	for i, w := range writes {
		errs[i] = p.hindrance(ctx, h, w)
	}
	return errs
}

func (p posix) hindrance(ctx context.Context, h resource.Reader, w resource.Write[Attributes]) error {
	changing := changes(w.Changes)
	if changing.has(resource.Ensure) {
		return p.hindersEnsure(ctx, h, w)
	}
	var errs []error
	if changing.has("owner") {
		errs = append(errs, p.account(h, user, w.Want.Owner))
	}
	if changing.has("group") {
		errs = append(errs, p.account(h, group, w.Want.Group))
	}
	if changing.has("content") {
		errs = append(errs, p.source(ctx, h, w.Want))
	}
	return errors.Join(errs...)
}

// hindersEnsure is why a file can't be made, with all that belongs to it, or can't be removed.
func (p posix) hindersEnsure(ctx context.Context, h resource.Reader, w resource.Write[Attributes]) error {
	inTheWay := refusal(w.Is.found.what, w.Want)
	if wants(w.Want) != resource.Absent {
		parent := p.parent(h, w.Want)
		return errors.Join(inTheWay, parent, p.account(h, user, w.Want.Owner), p.account(h, group, w.Want.Group), p.source(ctx, h, w.Want))
	}
	if w.Want.leaving { // an empty directory goes without force
		return nil
	}
	return inTheWay
}

// parent is why there is no directory to make a file in.
func (p posix) parent(h resource.Reader, want Attributes) error {
	dir, err := p.lookupParent(h, want)
	if errors.Is(err, fs.ErrNotExist) {
		return missing("File", path.Dir(want.Path), noParent(h, want))
	}
	if err != nil {
		return cannot("open directory of file", err)
	}
	return cannot("close directory of file", dir.Close())
}

// account is why an owner or group can't be set. A user may bring a group of its name.
func (p posix) account(h resource.Reader, kind accountKind, want *intstr.IntOrString) error {
	_, err := kind.resolve(h, p.known, want)
	switch {
	case err == nil:
		return nil
	case kind == user:
		return missing("User", want.StrVal, err)
	}
	return missing("Group", want.StrVal, missing("User", want.StrVal, err))
}

// source is why there is no content to copy.
func (p posix) source(ctx context.Context, h resource.Reader, want Attributes) error {
	if want.Source == nil || recurses(want) || wants(want) == string(directory) {
		return nil
	}
	if len(want.Sources) > 0 {
		_, err := p.choose(ctx, h, want)
		return missingAny(want.Sources, err)
	}
	if isURL(*want.Source) {
		_, err := p.remote.Ask(ctx, request(want))
		return cannot("look at source", err)
	}
	_, err := askHost(ctx, h, want, sumModified)
	if errors.Is(err, fs.ErrNotExist) {
		return missing("File", *want.Source, cannot("look at source", err))
	}
	return cannot("look at source", err)
}

// missing makes an error about a thing that the run may yet make.
func missing(kind, name string, err error) error {
	if err == nil {
		return nil
	}
	return &resource.MissingError{Kind: kind, Name: name, Err: err}
}

// missingAny is missing for sources of which the run may yet make any.
func missingAny(sources []string, err error) error {
	for _, s := range sources {
		if err != nil && !isURL(s) {
			err = missing("File", s, err)
		}
	}
	return err
}
