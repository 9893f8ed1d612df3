package user

import (
	"context"
	"slices"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/accounts/forecast"
	"github.com/fettle-dev/fettle/internal/resource"
)

// PrecheckRead implements [resource.ReadPrechecker]: a Group may have renumbered the primary group of a user, removed one, or given it members.
func (useradd) PrecheckRead(_ context.Context, h resource.Reader, is, want attributes) error {
	a, err := forecast.Read(h)
	if err != nil {
		return nil // the check of a change reports it
	}
	planned := database{users: a.Users, groups: a.Groups, shadow: new(accounts.Shadow)}.state(want)
	normalize(&planned)
	known := slices.DeleteFunc(properties(), func(p resource.Property[attributes]) bool { return isInShadow(p.Name) })
	if resource.Differs(known, is, planned, want) {
		return &resource.UnknownError{Reason: "comes after a change of the groups of " + want.Name}
	}
	return nil
}
