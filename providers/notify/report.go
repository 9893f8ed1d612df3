package notify

import (
	"context"
	"errors"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// report relies on the report of the run, in which the event of the change has the message.
type report struct{}

// Name implements [resource.Provider].
func (report) Name() string { return "report" }

// Suits implements [resource.Provider]: every run has a report.
func (report) Suits(resource.Facts, host.Reader) error { return nil }

// Read implements [resource.Provider]. No message was reported yet.
func (report) Read(_ context.Context, _ resource.Reader, want Attributes) (Attributes, error) {
	if want.Message == nil {
		return Attributes{}, errors.New("cannot look up a Notify by its name: apply one instead")
	}
	return Attributes{name: want.name}, nil
}

// Write implements [resource.Provider].
func (report) Write(context.Context, resource.Writer, Attributes, Attributes, []resource.Change) error {
	return nil
}
