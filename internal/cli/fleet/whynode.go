package fleet

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
	"github.com/fettle-dev/fettle/internal/text"
)

// An explainedNode is the state of a node, with what it waits for.
type explainedNode struct {
	Node    string                `json:"node"`
	State   nodestate.State       `json:"state"`
	Reason  string                `json:"reason,omitempty"`
	Message string                `json:"message,omitempty"`
	Rollout *v1alpha1.NodeRollout `json:"rollout,omitempty"` // absent if no RolloutPolicy takes the node
	// Waits is why the node has yet to get the newest of WaitsFor.
	Waits    string                 `json:"waits,omitempty"`
	WaitsFor []v1alpha1.ResourceRef `json:"waitsFor,omitempty"`
}

// runNode explains the state of a node.
func (c *whyCommand) runNode(ctx context.Context, name string) error {
	if c.node != "" {
		return errors.New("--node limits a resource to one node: leave it out, or name a resource such as File/motd")
	}
	client, err := c.connect()
	if err != nil {
		return err
	}
	nodes, err := client.Nodes(ctx, name)
	if err != nil {
		return err
	}
	e := explainedNode{Node: name, State: nodestate.Pending, Message: "the node has no NodeCatalog yet"}
	if n := nodes[0].Catalog; n != nil {
		is := n.State()
		e = explainedNode{Node: name, State: is.State, Reason: is.Reason, Message: is.Message, Rollout: n.Spec.Rollout}
		e.WaitsFor, e.Waits = c.waits(ctx, client, nodes).OfNode(nodes[0])
	}
	rows := aboutNode(e, time.Now())
	if err := c.output.PrintRows(c.out, e, rows); err != nil {
		return err
	}
	waits := e.Waits != "" || e.State == nodestate.Pending || e.State == nodestate.OutOfSync
	return c.codes.Exit(waits, e.State.NeedsAttention())
}

// aboutNode describes a node, one thing in a row.
func aboutNode(e explainedNode, now time.Time) [][]string {
	state := string(e.State)
	if why := cmp.Or(e.Message, e.Reason); why != "" {
		state += ": " + why
	}
	rows := [][]string{{"Node", e.Node}, {"State", state}}
	if r := e.Rollout; r != nil {
		given := ""
		if r.Since != nil {
			given = ", given " + output.Age(r.Since.Time, now, flags.Table) + " ago"
		}
		rows = append(rows, []string{"Policy", r.Policy}, []string{"Revision", v1alpha1.ShortRevision(r.Revision) + given})
	}
	if e.Waits != "" {
		rows = append(rows, []string{"Waits", e.Node + " is " + e.Waits}, []string{"Waits for", text.List(e.WaitsFor)})
	}
	return rows
}
