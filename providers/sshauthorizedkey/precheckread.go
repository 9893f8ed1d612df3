package sshauthorizedkey

import (
	"context"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/accounts/forecast"
	"github.com/fettle-dev/fettle/internal/resource"
)

// PrecheckRead implements [resource.ReadPrechecker]: a key is in the home of its user, which a User may change.
func (openssh) PrecheckRead(_ context.Context, h resource.Reader, _, want attributes) error {
	name, _ := place(want)
	if name == "" {
		return nil
	}
	users, err := accounts.ReadUsers(h)
	if err != nil {
		return nil
	}
	a, err := forecast.Read(h)
	if err != nil {
		return nil
	}
	is, exists := users.Named(name)
	planned, stays := a.Users.Named(name)
	moved, _ := a.Home(planned.Home)
	if exists && (!stays || is.Home != planned.Home && !moved) {
		return &resource.UnknownError{Reason: "comes after a change of user " + name}
	}
	return nil
}
