package user

import (
	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/accounts/forecast"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Stale implements [resource.StaleChecker]: a Group may have renumbered the primary group of a user, removed one, or given it members.
func (useradd) Stale(h resource.Reader, is, want attributes) string {
	if len(resource.Planned(h)) == 0 {
		return ""
	}
	a, err := forecast.Read(h)
	if err != nil {
		return "" // the check of a change reports it
	}
	planned := database{users: a.Users, groups: a.Groups, shadow: new(accounts.Shadow)}.state(want)
	normalize(&planned)
	for _, p := range properties() {
		if !isInShadow(p.Name) && resource.Differs(p, is, planned, want) {
			return "comes after a change of the groups of " + want.Name
		}
	}
	return ""
}
