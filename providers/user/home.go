package user

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/accounts/forecast"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// The tools change the account before they find out that its home can't be made or moved. So that is checked before.

// unusableHome returns why the home of a new user can't be made. useradd makes its parents, too.
func unusableHome(h resource.Reader, a forecast.Accounts, want attributes) error {
	if !ptr.Deref(want.ManageHome, false) {
		return nil
	}
	home := path.Join("/", a.HomeOf(want))
	files := resource.PlannedNames(h, "File")
	for dir := home; dir != "/"; dir = path.Dir(dir) {
		if _, planned := files[dir]; planned {
			return &resource.UnknownError{Reason: fmt.Sprintf("%s is planned", dir)}
		}
	}
	for dir := home; ; dir = path.Dir(dir) {
		switch _, err := h.Lstat(dir); {
		case errors.Is(err, fs.ErrNotExist) && dir != "/":
			continue
		case err != nil:
			return fmt.Errorf("cannot look for home %s: %w", home, err)
		}
		if dir == home {
			return noDirectory(h, "cannot make home "+home, dir)
		}
		return errors.Join(noDirectory(h, "cannot make home "+home, dir), protectedDir(h, home, dir))
	}
}

// protectedDir returns an error if nothing can be made in a directory.
func protectedDir(h host.Reader, home, dir string) error {
	f, err := h.Lookup(dir, host.Links{Follow: host.FollowAll, AtEnd: true})
	if err != nil {
		return nil // noDirectory says why
	}
	defer f.Close()
	why, err := f.Protection()
	if why != "" {
		return fmt.Errorf("cannot make home %s: %s %s, or remove manageHome", home, dir, why)
	}
	return err
}

// noDirectory returns an error if a path leads to no directory.
func noDirectory(h host.Reader, what, dir string) error {
	info, err := h.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil || errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%s: %s is no directory: use another path, or declare a File with ensure: directory", what, dir)
		return &resource.MissingError{Kind: "File", Name: dir, Err: err}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// immovableHome returns an error if a home directory can't be moved.
func immovableHome(h host.Reader, is, want attributes) error {
	if !ptr.Deref(want.MoveHome, false) {
		return nil
	}
	_, err := movesHome(h, is, want)
	return unlessUnreadable(err)
}

// unlessUnreadable returns that an outcome is unknown for the error of a home that the user of a plan may not look into.
func unlessUnreadable(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &resource.UnknownError{Reason: "the home can't be read"}
	}
	return err
}

// movesHome returns the option that moves a home directory, or nil if there is none to move.
func movesHome(h host.Reader, is, want attributes) ([]string, error) {
	from, to := path.Clean(*is.Home), path.Clean(*want.Home)
	if _, err := h.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, fmt.Errorf("cannot move the home directory to %s, which already exists: move it away, or remove moveHome", *want.Home))
	}
	info, err := h.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if host.IsBelow(to, from) {
		return nil, fmt.Errorf("cannot move the home directory %s to %s, which is below it: use another path, or remove moveHome", from, to)
	}
	if mounted, err := h.Mounted(from); mounted || err != nil {
		return nil, errors.Join(err, fmt.Errorf("cannot move the home directory %s, which is a mount point: unmount it first, or remove moveHome", from))
	}
	if err := noDirectory(h, "cannot move the home directory to "+to, path.Dir(to)); err != nil {
		return nil, err
	}
	return []string{"--move-home"}, immovableTree(h, from, path.Dir(to))
}

// irremovableHome returns an error if userdel would leave the home, or remove what is not the user's.
func irremovableHome(h resource.Reader, is attributes) error {
	home := path.Clean(*is.Home)
	info, err := h.Lstat(home)
	switch {
	case *is.Home == "" || errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot look at the home: %w", err)
	case !info.IsDir():
		return keptHome(is, "that is no directory, so userdel would leave it: remove manageHome, or remove it first")
	case int64(info.UID) != *is.UID:
		return keptHome(is, "that belongs to another user, so userdel would leave it: remove manageHome, or correct the owner")
	}
	a, err := forecast.Read(h)
	if err != nil {
		return err
	}
	if other := homeWithin(a.Users, home, is.Name); other != "" {
		return keptHome(is, "%s", havingOthers(other))
	}
	return irremovableTree(h, is, a.Users)
}

// keptHome is the error of a home that can't be removed, or must not be.
func keptHome(is attributes, format string, args ...any) error {
	return fmt.Errorf("cannot remove user %s with its home %s: %w", is.Name, *is.Home, fmt.Errorf(format, args...))
}

// havingOthers is why a home stays that another user's home is in.
func havingOthers(other string) string {
	return fmt.Sprintf("that is or has the home of user %s: remove manageHome", other)
}

// homeWithin returns a user, other than the named one, whose home is a directory or lies below it; "" if there is none.
func homeWithin(users accounts.Users, dir, except string) string {
	for _, u := range users {
		if u.Name != except && host.IsBelow(path.Clean(u.Home), path.Clean(dir)) {
			return u.Name
		}
	}
	return ""
}
