package group

import (
	"context"

	"github.com/fettle-dev/fettle/internal/accounts/forecast"
	"github.com/fettle-dev/fettle/internal/resource"
)

// PrecheckRead implements [resource.ReadPrechecker]: a User may have joined or left a group, or taken it along.
func (groupadd) PrecheckRead(_ context.Context, h resource.Reader, is, want attributes) error {
	a, err := forecast.Read(h)
	if err != nil {
		return nil // the check of a change reports it
	}
	if resource.Differs(properties(), is, state(a.Groups, want.Name), want) {
		return &resource.UnknownError{Reason: "comes after a change of its members"}
	}
	return nil
}
