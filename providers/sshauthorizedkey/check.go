package sshauthorizedkey

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/accounts/forecast"
	"github.com/fettle-dev/fettle/internal/authorizedkeys"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Precheck implements [resource.Prechecker].
func (openssh) Precheck(_ context.Context, h resource.Reader, writes []resource.Write[attributes]) []error {
	errs := make([]error, len(writes))
	a, err := forecast.Read(h)
	for i, w := range writes {
		errs[i] = err
		if err == nil {
			errs[i] = check(h, a, w)
		}
		if removesWithUser(w, errs[i]) {
			errs[i] = &resource.UnknownError{Reason: "comes after a change of user " + *w.Want.User}
			continue
		}
		if errs[i] != nil {
			errs[i] = fmt.Errorf("cannot manage key %q: %w", w.Want.Name, errs[i])
		}
	}
	return errs
}

// removesWithUser reports whether an error is that a key is to be removed whose user the plan removes before, perhaps with the key.
func removesWithUser(w resource.Write[attributes], err error) bool {
	_, gone := errors.AsType[*authorizedkeys.NoUserError](err)
	return gone && slices.ContainsFunc(w.Changes, resource.Change.Removes)
}

func check(h resource.Reader, a forecast.Accounts, w resource.Write[attributes]) error {
	user, target := place(w.Want)
	if user == "" && target == "" {
		return errNoPlace()
	}
	users := a.Users
	if target == "" { // the files of a home follow their user to another number
		users = a.Before(user)
	}
	p, err := authorizedkeys.Accounts{Users: users, Groups: a.Groups}.Of(user, target)
	if err != nil {
		return err
	}
	madeHome := false
	if p.User != nil {
		madeHome, _ = a.Home(p.User.Home)
	}
	err = p.CheckDir(h, madeHome)
	if dir, ok := errors.AsType[*authorizedkeys.DirError](err); ok && dir.Missing {
		return &resource.MissingError{Kind: "File", Name: dir.Dir, Err: err}
	} else if ok {
		return &resource.ProvisionalError{Err: err} // a File may replace it
	}
	if list, ok := errors.AsType[*authorizedkeys.AccessListError](err); ok {
		return &resource.UnknownError{Reason: "needs an access list of " + list.Dir}
	}
	return err
}

// errNoPlace is the error of a key whose file is unknown.
func errNoPlace() error {
	return errors.New("user or target is required: set the owner of the key, or the path of its file")
}
