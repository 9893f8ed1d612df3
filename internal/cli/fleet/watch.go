package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/text"
)

// reconnectAfter is the time between two watches.
const reconnectAfter = time.Second

// follow shows the progress of the fleet until ctx ends. It fails if the first request does.
func (c *statusCommand) follow(ctx context.Context) error {
	if err := flags.OneOf("--watch needs --output table, and --output", c.output.String(), flags.Table); err != nil {
		return err
	}
	client, err := c.connect()
	if err != nil {
		return err
	}
	defer c.out.EndProgress()
	shown := follower{out: c.out}
	for ctx.Err() == nil {
		if err := client.Follow(ctx, shown.show); err != nil && ctx.Err() == nil {
			if !shown.began {
				return err
			}
			c.out.Warn("%s; trying again", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(reconnectAfter):
		}
	}
	return c.codes.Exit(shown.Pending+shown.OutOfSync > 0, shown.Failed+shown.Withheld+shown.Held+shown.Silent+shown.Disabled > 0)
}

// A follower shows the states of the fleet that differ from the one before.
type follower struct {
	out                 *output.Printer
	v1alpha1.FleetNodes // of the last state
	began               bool
	line                string
}

func (w *follower) show(next v1alpha1.FleetStatus) {
	w.FleetNodes, w.began = next.Nodes, true
	if line := progress(next); line != w.line {
		w.line = line
		w.out.ShowLine(bar(next.Nodes), line)
	}
}

// progress is "2 of 3 nodes in sync, 1 pending; drift in 24 h on 1 node".
func progress(s v1alpha1.FleetStatus) string {
	n := s.Nodes
	line := counts(fmt.Sprintf("%d of %d", n.InSync, n.Total), "nodes in sync",
		n.Pending, "pending", n.Held, "held", n.OutOfSync, "out of sync", n.Failed, "failed", n.Withheld, "withheld", n.Disabled, "disabled", n.Silent, "silent")
	if s.Drift.Nodes > 0 {
		line += "; drift in 24 h on " + text.Count(int(s.Drift.Nodes), "node")
	}
	return line
}

// bar shows which part of the nodes is done: all but those that are pending or held.
func bar(n v1alpha1.FleetNodes) string {
	return output.Bar(int(n.Total-n.Pending-n.Held), int(n.Total))
}
