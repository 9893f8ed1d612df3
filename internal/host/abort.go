package host

import (
	"context"
	"time"
)

type abortKey struct{}

// WithAbort is a context of which even what must not be stopped halfway ends when abort does.
func WithAbort(ctx, abort context.Context) context.Context {
	return context.WithValue(ctx, abortKey{}, abort)
}

// UntilAbort is ctx without its end: it ends when abort of [WithAbort] does, or never.
func UntilAbort(ctx context.Context) context.Context {
	lasting := context.WithoutCancel(ctx)
	if abort, ok := ctx.Value(abortKey{}).(context.Context); ok {
		return abortable{lasting, abort}
	}
	return lasting
}

// abortable has the values of one context and the end of another.
type abortable struct {
	context.Context
	abort context.Context
}

// Deadline implements [context.Context].
func (a abortable) Deadline() (time.Time, bool) { return a.abort.Deadline() }

// Done implements [context.Context].
func (a abortable) Done() <-chan struct{} { return a.abort.Done() }

// Err implements [context.Context].
func (a abortable) Err() error { return a.abort.Err() }
