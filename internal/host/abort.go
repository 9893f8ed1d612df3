package host

import (
	"context"
	"time"
)

type abortKey struct{}

// WithAbort returns a context with an abort: it stops even work that the end of ctx does not interrupt.
func WithAbort(ctx, abort context.Context) context.Context {
	return context.WithValue(ctx, abortKey{}, abort)
}

// UntilAbort returns ctx without its end. It ends with the abort of [WithAbort], or never.
func UntilAbort(ctx context.Context) context.Context {
	lasting := context.WithoutCancel(ctx)
	if abort, ok := ctx.Value(abortKey{}).(context.Context); ok {
		return abortable{lasting, abort}
	}
	return lasting
}

// abortable has the values of one context and the lifetime of another.
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
