package user

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// checkFiles returns an error if usermod, chpasswd or chage can't change a property because of the account files.
func checkFiles(h host.Reader, is, want attributes, property string) error {
	editable := func(more ...string) error {
		return accounts.CheckEditable(h, append([]string{accounts.PasswdFile, accounts.ShadowFile}, more...)...)
	}
	switch {
	case property == "groups":
		return errors.Join(editable(accounts.GroupFile, accounts.GroupShadowFile), uniqueGroups(h, is, want))
	case property == "locked":
		return errors.Join(editable(), missingShadow(h), accounts.CheckUnique(h, want.Name, accounts.PasswdFile, accounts.ShadowFile))
	case isInShadow(property):
		return errors.Join(editable(), missingShadow(h), accounts.CheckUnique(h, want.Name, accounts.ShadowFile))
	default:
		return errors.Join(editable(), accounts.CheckUnique(h, want.Name, accounts.PasswdFile))
	}
}

// uniqueGroups returns an error if the files have a group twice that the user is to be added to or removed from.
func uniqueGroups(h host.Reader, is, want attributes) error {
	var errs []error
	for _, name := range want.Groups {
		if !slices.Contains(is.Groups, name) {
			errs = append(errs, accounts.CheckUnique(h, name, accounts.GroupFile, accounts.GroupShadowFile))
		}
	}
	for _, name := range is.Groups {
		if !isMinimum(want) && !slices.Contains(want.Groups, name) {
			errs = append(errs, accounts.CheckUnique(h, name, accounts.GroupFile, accounts.GroupShadowFile))
		}
	}
	return errors.Join(errs...)
}

// checkFilesOfCreation is checkFiles for useradd and the tools that complete a new account.
func checkFilesOfCreation(h host.Reader, want attributes) error {
	err := errors.Join(checkAllEditable(h), uniqueGroups(h, attributes{}, want))
	if needsShadow(want) {
		err = errors.Join(err, missingShadow(h))
	}
	return err
}

// checkFilesOfRemoval is checkFiles for userdel.
func checkFilesOfRemoval(h host.Reader, want attributes) error {
	return errors.Join(checkAllEditable(h), accounts.CheckUnique(h, want.Name, accounts.PasswdFile, accounts.ShadowFile))
}

func checkAllEditable(h host.Reader) error {
	return accounts.CheckEditable(h, accounts.PasswdFile, accounts.ShadowFile, accounts.GroupFile, accounts.GroupShadowFile, accounts.SubUIDFile, accounts.SubGIDFile)
}

// missingShadow returns an error if there is no file for what is not in passwd.
func missingShadow(h host.Reader) error {
	_, err := h.Lstat(accounts.ShadowFile)
	if !errors.Is(err, fs.ErrNotExist) {
		return nil // other faults are found when it is read
	}
	err = fmt.Errorf("the host has no %s: create it with pwconv", accounts.ShadowFile)
	return &resource.MissingError{Kind: "File", Name: accounts.ShadowFile, Err: err}
}
