package fleet

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/text"
)

// reconnectAfter is the time between two watches.
const reconnectAfter = time.Second

// watch shows the progress of the fleet until ctx ends. It fails if the first request does.
func (a printer) watch(cmd *cobra.Command, f options) error {
	if err := flags.OneOf("--watch needs --output table, and --output", f.format, formatTable); err != nil {
		return err
	}
	client, err := f.connect()
	if err != nil {
		return err
	}
	defer a.EndProgress()
	shown := follower{printer: a}
	for ctx := cmd.Context(); ctx.Err() == nil; {
		if err := client.Follow(ctx, shown.show); err != nil && ctx.Err() == nil {
			if !shown.began {
				return err
			}
			a.Warn("%s; trying again", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(reconnectAfter):
		}
	}
	return f.exit(shown.Pending+shown.OutOfSync > 0, shown.Failed+shown.Withheld+shown.Held+shown.Silent+shown.Disabled > 0)
}

// A follower shows the states of the fleet that differ from the one before.
type follower struct {
	printer
	v1alpha1.FleetNodes // of the last state
	began               bool
	line                string
}

func (w *follower) show(next v1alpha1.FleetStatus) {
	w.FleetNodes, w.began = next.Nodes, true
	if line := progress(next); line != w.line {
		w.line = line
		w.ShowLine(bar(next.Nodes), line)
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
