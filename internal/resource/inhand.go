package resource

import (
	"context"
	"errors"

	"github.com/fettle-dev/fettle/internal/host"
)

// ErrNotBegun is what a [BatchWriter] returns for what it left as it was because the run
// is to stop; see [Stopped].
var ErrNotBegun = errors.New("was not begun")

type runKey struct{}

// InHand is a context for what is finished once it is begun, even when its run is to stop. It
// ends when the run is aborted; see [host.WithAbort].
func InHand(run context.Context) context.Context {
	return host.UntilAbort(context.WithValue(run, runKey{}, run))
}

// Stopped is why the run is to stop whose context [InHand] was given; nil if it is not.
// Who has many things to do begins no other then.
func Stopped(ctx context.Context) error {
	if run, ok := ctx.Value(runKey{}).(context.Context); ok {
		return context.Cause(run)
	}
	return nil
}
