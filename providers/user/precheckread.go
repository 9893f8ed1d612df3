package user

import (
	"context"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/accounts/forecast"
	"github.com/fettle-dev/fettle/internal/resource"
)

// PrecheckRead implements [resource.ReadPrechecker]: a Group may have renumbered the primary group of a user, removed one, or given it members.
func (useradd) PrecheckRead(_ context.Context, h resource.Reader, is, want attributes) error {
	if len(resource.Planned(h)) == 0 {
		return nil
	}
	a, err := forecast.Read(h)
	if err != nil {
		return nil // the check of a change reports it
	}
	planned := database{users: a.Users, groups: a.Groups, shadow: new(accounts.Shadow)}.state(want)
	normalize(&planned)
	for _, p := range properties() {
		if !isInShadow(p.Name) && resource.Differs(p, is, planned, want) {
			return &resource.UnknownError{Reason: "comes after a change of the groups of " + want.Name}
		}
	}
	return nil
}
