package sshauthorizedkey

import (
	"context"
	"errors"
	"fmt"

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
		if errs[i] != nil {
			errs[i] = fmt.Errorf("cannot manage key %q: %w", w.Want.Name, errs[i])
		}
	}
	return errs
}

func check(h resource.Reader, a forecast.Accounts, w resource.Write[attributes]) error {
	user, target := place(w.Want)
	if user == "" && target == "" {
		return errNoPlace()
	}
	p, err := authorizedkeys.Accounts{Users: a.Users, Groups: a.Groups}.Of(user, target)
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
