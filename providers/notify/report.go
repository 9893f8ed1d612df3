package notify

import (
	"context"
	"errors"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// report leaves it to the report of the run, whose event of the change is the message.
type report struct{}

// Name implements [resource.Provider].
func (report) Name() string { return "report" }

// Suits implements [resource.Provider]: every run has a report.
func (report) Suits(resource.Facts, host.Reader) error { return nil }

// Read implements [resource.Provider]: no message was told yet.
func (report) Read(_ context.Context, _ resource.Reader, want Attributes) (Attributes, error) {
	if want.Message == nil {
		return Attributes{}, errors.New("no host tells of a Notify that is merely named: apply one instead")
	}
	return Attributes{name: want.name}, nil
}

// Write implements [resource.Provider].
func (report) Write(context.Context, resource.Writer, Attributes, Attributes, []resource.Change) error {
	return nil
}
