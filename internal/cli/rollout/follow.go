package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
)

// reconnectAfter is the time between two watches.
const reconnectAfter = time.Second

// follow shows the progress of a policy until it is Ready or Stalled, or the time is over.
func (c *statusCommand) follow(ctx context.Context, name string) error {
	if name == "" {
		return errors.New("--watch follows one policy: name it")
	}
	if err := flags.OneOf("--watch needs --output table, and --output", c.output.String(), flags.Table); err != nil {
		return err
	}
	if c.timeout < 0 {
		return fmt.Errorf("--timeout %s is negative: use 1s or more, or 0 for no limit", c.timeout)
	}
	client, err := c.Connect()
	if err != nil {
		return err
	}
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	defer c.Out.EndProgress()
	f := follower{out: c.Out, name: name}
	if err := f.follow(ctx, client); err != nil {
		return err
	}
	return f.result(ctx)
}

// A follower shows the states of a policy that differ from the one before.
type follower struct {
	out   *output.Printer
	name  string
	line  string // the last one
	seen  bool   // a rollout was in progress
	ended bool   // the policy is Ready or Stalled
	last  overview.Policy
}

// follow watches until the policy is Ready or Stalled or ctx ends. It fails if the first request does.
func (f *follower) follow(ctx context.Context, client *overview.Client) error {
	for {
		gone, err := client.FollowPolicy(ctx, f.name, f.show)
		if f.ended || ctx.Err() != nil {
			return nil
		}
		if err := f.interrupted(gone, err); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(reconnectAfter):
		}
	}
}

// interrupted returns why another watch would be in vain; nil if it would not.
func (f *follower) interrupted(gone bool, err error) error {
	switch {
	case gone:
		return fmt.Errorf("the RolloutPolicy %s was deleted", f.name)
	case err != nil && (f.line == "" || apierrors.IsNotFound(err)):
		return err
	case err != nil:
		f.out.Warn("%s; trying again", err)
	}
	return nil
}

// show prints a line if the state is another one.
func (f *follower) show(p v1alpha1.RolloutPolicy) (done bool) {
	f.last = overview.PolicyOf(p, nil)
	f.ended = f.last.Observed && (f.last.Ready || f.last.Stalled)
	f.seen = f.seen || f.last.Observed && !f.ended
	if line := lineOf(f.last); line != f.line && !f.ended {
		f.line = line
		f.out.ShowLine(output.Bar(int(f.last.Status.Nodes.Proven), int(f.last.Status.Nodes.Affected)), line)
	}
	return f.ended
}

func lineOf(p overview.Policy) string {
	if !p.Observed || p.Line() == "" {
		return p.Name + ": waiting until the manager reads the last change of the policy"
	}
	return p.Name + ": " + p.Line()
}

// result prints how the rollout ended, and returns the exit code.
func (f *follower) result(ctx context.Context) error {
	switch {
	case f.ended && f.last.Stalled:
		f.out.WarnIn(output.Red, "%s: %s", f.name, f.last.Line())
		return output.Exit(1)
	case f.ended && !f.seen:
		f.out.Print("%s rolls nothing out; its nodes are at %s", f.name, v1alpha1.ShortRevision(f.last.Status.Stable))
		return nil
	case f.ended:
		f.out.Print("%s has rolled out %s", f.name, v1alpha1.ShortRevision(f.last.Status.Stable))
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the rollout is not completed within --timeout; the last state is: %s", f.line)
	}
	return output.Exit(1) // it was interrupted
}
