package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
	"github.com/fettle-dev/fettle/internal/text"
)

// A diffCommand is diff.
type diffCommand struct {
	shared
	output flags.Output
	codes  flags.ExitCodes
}

func newDiff(s shared) *cobra.Command {
	c := diffCommand{shared: s}
	cmd := &cobra.Command{
		Use:   "diff NODE|KIND/NAME",
		Short: "Show how hosts differ from their catalogs now, with diffs",
		Long: "diff asks the agent of a node how its host differs from its catalog now, or the agents of all nodes that a resource selects.\n" +
			"Nothing changes. Commands of users and programs of external types are not started: what only they can tell is skipped.",
		Example: "  kubectl fettle diff web-1\n" +
			"  kubectl fettle diff File/motd",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: c.completeNodeOrRef,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.output.AddText(cmd)
	c.codes.Add(cmd, "if there is a difference", "if something failed, is withheld or unknown, or a node is held, disabled or gives no answer")
	return cmd
}

func (c *diffCommand) run(ctx context.Context, of string) error {
	client, err := c.connect()
	if err != nil {
		return err
	}
	if strings.ContainsAny(of, "/[") {
		all, err := ofResource(ctx, client, of)
		if err != nil {
			return err
		}
		return c.printAll(all)
	}
	d := client.Difference(ctx, of)
	if d.Err != nil {
		return d.Err
	}
	if err := c.output.Print(c.out, []answer{answerOf(d)}, func() { c.printOne(d) }); err != nil {
		return err
	}
	return c.codes.Exit(differs(d), fails(d))
}

// ofResource asks all nodes that a resource selects about it, unless it is withheld there.
func ofResource(ctx context.Context, client *overview.Client, ref string) ([]overview.Difference, error) {
	r, err := client.Resource(ctx, ref)
	if err != nil {
		return nil, err
	}
	nodes, err := client.Nodes(ctx, "")
	if err != nil {
		return nil, err
	}
	explained, err := overview.Why(r, nodes)
	if err != nil {
		return nil, fmt.Errorf("%s selects no node: %w", r.Ref(), err)
	}
	explained = slices.DeleteFunc(explained, func(e overview.Explanation) bool { return !e.Shown() })
	if len(explained) == 0 {
		return nil, fmt.Errorf("%s selects no node: it selects %s", r.Ref(), overview.Selects(r))
	}
	return client.DifferencesOf(ctx, r.Ref(), explained, overview.NodeCatalogsByName(nodes)), nil
}

// printOne prints the answer of one node, after what keeps it from what its resources say.
func (c *diffCommand) printOne(d overview.Difference) {
	if d.State.NeedsAttention() {
		c.out.PrintIn(output.Red, "%s is %s: %s", d.Node, strings.ToLower(string(d.State)), d.StateMessage)
	}
	for _, w := range d.Withheld {
		c.out.PrintIn(output.Red, "%s: withheld: %s", w.Ref, cmp.Or(w.Message, w.Reason))
	}
	c.printResources(d.Report)
	c.out.Print("%s", d.Report.Summary()+countedIf(len(d.Withheld), "withheld"))
}

// printAll prints the answers of nodes. Without all of them, the exit code is 1, unless detailed ones are wanted.
func (c *diffCommand) printAll(asked []overview.Difference) error {
	silent := false
	answers := make([]answer, len(asked))
	for i, d := range asked {
		answers[i] = answerOf(d)
		if d.Err != nil {
			silent = true
			c.out.Warn("%v", d.Err)
		}
	}
	if err := c.output.Print(c.out, answers, func() { c.printGroups(asked) }); err != nil {
		return err
	}
	if silent && !c.codes.Wanted() {
		return output.Exit(1)
	}
	return c.codes.Exit(slices.ContainsFunc(asked, differs), slices.ContainsFunc(asked, fails))
}

// printGroups prints the answers of nodes that differ in the same way together, then where the resource is withheld.
func (c *diffCommand) printGroups(asked []overview.Difference) {
	reports := slices.DeleteFunc(slices.Clone(asked), func(d overview.Difference) bool { return d.Err != nil || len(d.Withheld) > 0 })
	for _, g := range overview.GroupDifferences(reports) {
		if len(g.Report.Resources) > 0 {
			c.out.Print("%s:", text.List(g.Nodes))
			c.printResources(g.Report)
		}
	}
	c.printWithheld(asked)
	c.out.Print("%s", tally(asked))
}

// printWithheld says where and why a resource is withheld.
func (c *diffCommand) printWithheld(asked []overview.Difference) {
	nodes := map[string][]string{}
	for _, d := range asked {
		for _, w := range d.Withheld {
			nodes[w.Message] = append(nodes[w.Message], d.Node)
		}
	}
	for _, message := range slices.Sorted(maps.Keys(nodes)) {
		c.out.PrintIn(output.Red, "%s:", text.List(nodes[message]))
		c.out.PrintIn(output.Red, "withheld: %s", message)
	}
}

func (c *diffCommand) printResources(r report.Report) {
	for _, res := range r.Resources {
		c.out.Resource(res, true)
	}
}

// An answer is what a node says of its host, or what keeps it from that.
type answer struct {
	Node        string          `json:"node"`
	NodeState   nodestate.State `json:"nodeState,omitempty"`
	NodeMessage string          `json:"nodeMessage,omitempty"`
	// Report is absent if there is a withheld resource or an error instead.
	Report *report.Report `json:"report,omitempty"`
	// Withheld are resources that the node does not get.
	Withheld []v1alpha1.Withheld `json:"withheld,omitempty"`
	Error    string              `json:"error,omitempty"`
}

func answerOf(d overview.Difference) answer {
	a := answer{Node: d.Node, NodeState: d.State, NodeMessage: d.StateMessage, Withheld: d.Withheld}
	switch {
	case d.Err != nil:
		a.Error = d.Err.Error()
	case d.Report.Kind != "":
		a.Report = &d.Report
	}
	return a
}

func countedIf(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d %s", n, what)
}

func differs(d overview.Difference) bool { return d.Report.Counts.Noop > 0 }

func fails(d overview.Difference) bool {
	return d.Err != nil || len(d.Withheld) > 0 || d.State.NeedsAttention() || d.Report.Counts.Failed+d.Report.Counts.Skipped > 0
}

// tally is "different on 1 of 3 nodes, 1 withheld". Nodes that are held or disabled have answered, too.
func tally(asked []overview.Difference) string {
	var different, failed, skipped, withheld, silent, held, disabled int
	for _, d := range asked {
		switch {
		case d.Err != nil:
			silent++
		case len(d.Withheld) > 0:
			withheld++
		case d.Report.Counts.Noop > 0:
			different++
		case d.Report.Counts.Failed > 0:
			failed++
		case d.Report.Counts.Skipped > 0:
			skipped++
		}
		switch d.State {
		case nodestate.Held:
			held++
		case nodestate.Disabled:
			disabled++
		case nodestate.Silent, nodestate.Pending, nodestate.Failed, nodestate.Withheld, nodestate.OutOfSync, nodestate.InSync:
		}
	}
	return counts(fmt.Sprintf("different on %d of", different), text.Count(len(asked), "node"), failed, "failed", skipped, "not checked", withheld, "withheld",
		silent, "without an answer", held, "held", disabled, "disabled")
}
