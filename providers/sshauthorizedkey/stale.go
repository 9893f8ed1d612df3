package sshauthorizedkey

import (
	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/accounts/forecast"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Stale implements [resource.StaleChecker]: a key is in the home of its user, which a User may change.
func (openssh) Stale(h resource.Reader, _, want attributes) string {
	name, _ := place(want)
	if len(resource.Planned(h)) == 0 || name == "" {
		return ""
	}
	users, err := accounts.ReadUsers(h)
	if err != nil {
		return ""
	}
	a, err := forecast.Read(h)
	if err != nil {
		return ""
	}
	is, exists := users.Named(name)
	planned, stays := a.Users.Named(name)
	moved, _ := a.Home(planned.Home)
	if exists && (!stays || is.Home != planned.Home && !moved) {
		return "comes after a change of user " + name
	}
	return ""
}
