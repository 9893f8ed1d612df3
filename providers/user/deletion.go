package user

import (
	"slices"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// deleted removes the home directory too if it was created with the account.
func deleted(want attributes) attributes {
	return attributes{Name: want.Name, Ensure: new(resource.Absent), ManageHome: want.ManageHome, MoveHome: want.MoveHome, Confirm: want.Confirm, Membership: new("inclusive")}
}

// original omits a group that is removed and created together with the account, whatever its number.
func original(h host.Reader, is attributes, changes []resource.Change) (attributes, error) {
	if is.GID == nil || !slices.ContainsFunc(changes, resource.Change.Removes) {
		return is, nil
	}
	all, err := accounts.ReadGroups(h)
	if g, known := find(all, is.GID); known && g.Name == is.Name {
		is.GID = nil
	}
	return is, err
}
