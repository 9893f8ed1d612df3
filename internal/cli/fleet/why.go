package fleet

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/host"
)

// A whyCommand is why.
type whyCommand struct {
	shared
	output flags.Output
	codes  flags.ExitCodes
	node   string
}

func newWhy(s shared) *cobra.Command {
	c := whyCommand{shared: s}
	cmd := &cobra.Command{
		Use:   "why KIND/NAME|NODE",
		Short: "Explain where a resource applies, its state on each node, and why, or what a node waits for",
		Long: "why explains which nodes a resource selects and by what, its state on each of them, and what it waits for. It reads the\n" +
			"resource, Nodes, NodeCatalogs, RolloutPolicies and CatalogRevisions. Nodes in the same state for the same reason are shown\n" +
			"together, problems first; -o wide lists each node, and those that are not selected. For a node, why explains its state, and\n" +
			"for which resources it waits until a rollout reaches it.",
		Example: "  kubectl fettle why File/motd\n" +
			"  kubectl fettle why File/motd --node web-1\n" +
			"  kubectl fettle why web-1",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: c.completeNodeOrRef,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !strings.ContainsAny(args[0], "/[") {
				return c.runNode(cmd.Context(), args[0])
			}
			return c.run(cmd.Context(), args[0])
		},
	}
	c.output.AddTable(cmd)
	c.codes.Add(cmd, "if nodes differ from the resource or have yet to apply it", "if it failed, is withheld, skipped, held, disabled or unknown on some")
	cmd.Flags().StringVar(&c.node, "node", "", "only this node")
	_ = cmd.RegisterFlagCompletionFunc("node", c.completeNode)
	return cmd
}

func (c *whyCommand) run(ctx context.Context, ref string) error {
	client, err := c.connect()
	if err != nil {
		return err
	}
	r, err := client.Resource(ctx, ref)
	if err != nil {
		return err
	}
	nodes, err := client.Nodes(ctx, c.node)
	if err != nil {
		return err
	}
	all, err := overview.Why(r, nodes)
	if err != nil {
		return fmt.Errorf("%s selects no node: %w", r.Ref(), err)
	}
	c.waits(ctx, client, nodes).Explain(r.Ref(), all, nodes)
	w := explained{Resource: r, all: all, one: c.node != ""}
	if slices.ContainsFunc(all, func(e overview.Explanation) bool { return e.Held }) {
		w.deselection = c.fleetStatus(ctx, client, "how to confirm what is held").Deselection
	}
	if err := c.print(w, time.Now()); err != nil {
		return err
	}
	return c.codes.Exit(slices.ContainsFunc(all, overview.Explanation.Differs), slices.ContainsFunc(all, overview.Explanation.Fails))
}

// waits returns what nodes wait for because of rollouts; nothing if that cannot be read.
func (s shared) waits(ctx context.Context, client *overview.Client, nodes []overview.Node) overview.Waits {
	waits, err := client.Waits(ctx, nodes)
	if err != nil {
		s.out.Warn("cannot say what waits for a rollout: %v", err)
		return overview.Waits{}
	}
	return waits
}

// An explained is a resource with its explanations.
type explained struct {
	overview.Resource
	all         []overview.Explanation
	one         bool                      // of a node that was asked for
	deselection *v1alpha1.HeldDeselection // what holds some nodes; nil if none is, or it cannot be read
}

func (c *whyCommand) print(w explained, now time.Time) error {
	rows := explanations(w.all, now, c.output)
	if c.output.Is(flags.Table) && !w.one {
		rows = explanationGroups(w.all, now, c.output)
	}
	return c.output.PrintTable(c.out, w.all, rows, func() {
		c.out.Table(about(w))
		if len(rows) > 1 {
			c.out.Print("")
			c.out.Table(rows)
		}
	})
}

// explanations has a row for each node.
func explanations(all []overview.Explanation, now time.Time, as flags.Output) [][]string {
	table := [][]string{{"NODE", "SELECTED", "STATE", "SINCE", "DRIFT", "REASON"}}
	if !as.Is(flags.Table) {
		table[0] = slices.Insert(table[0], beforeAuthor, "AUTHOR")
	}
	for _, e := range all {
		table = append(table, row(e, now, as))
	}
	return table
}

// explanationGroups has a row for the nodes that have the same explanation.
func explanationGroups(all []overview.Explanation, now time.Time, as flags.Output) [][]string {
	table := [][]string{{"STATE", "NODES", "WHICH", "SINCE", "DRIFT", "REASON"}}
	shown := slices.DeleteFunc(slices.Clone(all), func(e overview.Explanation) bool { return !e.Shown() })
	for _, g := range overview.GroupedExplanations(shown) {
		cells := row(g.Explanation, now, as)
		state := cells[2]
		if g.Held {
			state = "Held"
		}
		table = append(table, []string{state, strconv.Itoa(len(g.Nodes)), someNodes(g.Nodes), cells[3], cells[4], g.Reason})
	}
	return table
}

// beforeAuthor is the number of columns before AUTHOR.
const beforeAuthor = 5

func row(e overview.Explanation, now time.Time, as flags.Output) []string {
	since, drift, author := "", "", ""
	if e.Since != nil {
		since = output.Age(e.Since.Time, now, as.String())
	}
	if e.Drift != nil {
		drift, author = fmt.Sprint(e.Drift.Count), (*host.Author)(e.Drift.Author).String()
	}
	cells := []string{e.Node, map[bool]string{true: "yes", false: "no"}[e.Selected], string(e.State), since, drift, e.Reason}
	if as.Is(flags.Table) {
		return cells
	}
	return slices.Insert(cells, beforeAuthor, author)
}

// about describes a resource, one thing in a row. What holds nodes comes first, because it causes the rest.
func about(w explained) (rows [][]string) {
	r := w.Resource
	rows = append(rows, []string{"Resource", string(r.Ref())})
	if w.deselection != nil {
		rows = append(rows, []string{"Held", w.deselection.Message})
	}
	if ready := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		rows = append(rows, []string{"Ready", fmt.Sprintf("%s (%s): %s", ready.Status, ready.Reason, ready.Message)})
	}
	if contest := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionContended); contest != nil {
		rows = append(rows, []string{"Contended", contest.Message})
	}
	selects := overview.Selects(r)
	if !w.one {
		selects += fmt.Sprintf(": %d of %d", selected(w.all), len(w.all))
	}
	rows = append(rows, []string{"Selects", selects})
	for _, edge := range []struct {
		name string
		refs []v1alpha1.ResourceRef
	}{{"Requires", r.Spec.Require}, {"Before", r.Spec.Before}, {"Notifies", r.Spec.Notify}, {"Subscribes to", r.Spec.Subscribe}} {
		if len(edge.refs) > 0 {
			rows = append(rows, []string{edge.name, list(edge.refs)})
		}
	}
	return rows
}

func selected(all []overview.Explanation) (n int) {
	for _, e := range all {
		if e.Selected {
			n++
		}
	}
	return n
}

func list(refs []v1alpha1.ResourceRef) string {
	var all []string
	for _, r := range refs {
		all = append(all, string(r))
	}
	return strings.Join(all, ", ")
}
