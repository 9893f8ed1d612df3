package user

import (
	"slices"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// gone takes the home directory along where it was made with the account.
func gone(want attributes) attributes {
	return attributes{Name: want.Name, Ensure: new(resource.Absent), ManageHome: want.ManageHome, MoveHome: want.MoveHome, Confirm: want.Confirm, Membership: new("inclusive")}
}

// was leaves out a group that goes with the account, and comes with it again, whatever its
// number.
func was(h host.Reader, is attributes, changes []resource.Change) (attributes, error) {
	if is.GID == nil || !slices.ContainsFunc(changes, resource.Change.Removes) {
		return is, nil
	}
	all, err := accounts.ReadGroups(h)
	if g, known := find(all, is.GID); known && g.Name == is.Name {
		is.GID = nil
	}
	return is, err
}
