package nodetoken

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"k8s.io/utils/clock"
)

const (
	// renewAfter is the part of a token's lifetime after which it is renewed. What is left of a week then outlasts an
	// API server that is away for five days.
	renewAfter = 0.2
	// shortest is the time between two renewals, however short-lived the tokens are.
	shortest = time.Minute
	// firstRetry and lastRetry bound the backoff after a failed renewal.
	firstRetry = 5 * time.Second
	lastRetry  = 10 * time.Minute
	// jitter spreads the renewals of many agents: a delay is up to this part shorter.
	jitter = 0.1
)

// A Renewer replaces the token in a file before it expires.
type Renewer struct {
	File string
	// Request returns a new token for the same account and Node.
	Request func(ctx context.Context, current Claims) (string, error)
	// Replace replaces the file atomically, so that a reader finds the old token or the new one.
	Replace func(file string, token []byte) error
	Clock   clock.Clock
	Random  func() float64 // in [0, 1)
	Log     *slog.Logger
}

// Run renews the token until ctx ends. A token that does not live as long as an agent's own is the first one of its
// host, and is replaced at once.
func (r Renewer) Run(ctx context.Context) {
	wait := r.untilDue()
	if first, err := r.current(); err == nil && first.Expires.Sub(first.Issued) < MaxLifetime {
		wait = 0
	}
	for failures := 0; r.sleep(ctx, wait); {
		delay, err := r.renew(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failures, wait = 0, max(delay, shortest)
		default:
			wait = min(firstRetry<<min(failures, 10), lastRetry)
			failures++
			r.Log.Warn("cannot renew the agent's token, retrying", "error", err, "retry", wait)
		}
	}
}

// untilDue returns how long to wait for the first renewal. It is 0 if the file has no token.
func (r Renewer) untilDue() time.Duration {
	current, err := r.current()
	if err != nil {
		return 0
	}
	return min(max(current.Issued.Add(delay(current)).Sub(r.Clock.Now()), 0), delay(current))
}

// delay returns how long after its issue a token is to be renewed. The clock of the host may be wrong, so that no wait is
// longer, and none after a renewal depends on it.
func delay(c Claims) time.Duration {
	return time.Duration(renewAfter * float64(c.Expires.Sub(c.Issued)))
}

func (r Renewer) current() (Claims, error) {
	text, err := os.ReadFile(r.File)
	if err != nil {
		return Claims{}, fmt.Errorf("cannot read the agent's token: %w", err)
	}
	claims, err := Parse(string(text))
	if err != nil {
		return Claims{}, fmt.Errorf("cannot use the agent's token in %s: %w", r.File, err)
	}
	return claims, nil
}

// renew returns how long after now to renew the next token.
func (r Renewer) renew(ctx context.Context) (time.Duration, error) {
	current, err := r.current()
	if err != nil {
		return 0, err
	}
	token, err := r.Request(ctx, current)
	if err != nil {
		return 0, fmt.Errorf("%w; the present one expires at %s, after which an administrator has to create another with fettle agent token",
			err, current.Expires.UTC().Format(time.RFC3339))
	}
	next, err := Parse(token)
	if err != nil {
		return 0, err
	}
	if err := r.Replace(r.File, []byte(token+"\n")); err != nil {
		return 0, fmt.Errorf("cannot replace the agent's token: %w", err)
	}
	r.Log.Info("renewed the agent's token", "expires", next.Expires.UTC().Format(time.RFC3339))
	return delay(next), nil
}

// sleep reports whether it slept: false if ctx ended.
func (r Renewer) sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := r.Clock.NewTimer(d - time.Duration(jitter*r.Random()*float64(d)))
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}
