package resource

import "context"

type listener struct{}

// Tell says what a write or a refresh has to say beside its changes, such as the output
// of a command: for the report, so it must hold no secret. ctx is the one that the
// provider was called with. Nobody may be listening.
func Tell(ctx context.Context, text string) {
	if hear, ok := ctx.Value(listener{}).(func(string)); ok {
		hear(text)
	}
}

// Listening is a context in which hear is called with what providers tell.
func Listening(ctx context.Context, hear func(text string)) context.Context {
	return context.WithValue(ctx, listener{}, hear)
}
