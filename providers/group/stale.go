package group

import (
	"github.com/fettle-dev/fettle/internal/accounts/forecast"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Stale implements [resource.StaleChecker]: a User may have joined or left a group, or taken it along.
func (groupadd) Stale(h resource.Reader, is, want attributes) string {
	if len(resource.Planned(h)) == 0 {
		return ""
	}
	a, err := forecast.Read(h)
	if err != nil {
		return "" // the check of a change reports it
	}
	planned := state(a.Groups, want.Name)
	for _, p := range properties() {
		if resource.Differs(p, is, planned, want) {
			return "comes after a change of its members"
		}
	}
	return ""
}
