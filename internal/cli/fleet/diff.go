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

const formatText = "text"

// addReports adds the flags of commands that print reports.
func (f *options) addReports(cmd *cobra.Command) {
	flags.Output(cmd, &f.format, "text, json or yaml", formatText, formatJSON, formatYAML)
}

func (a printer) diff() *cobra.Command {
	f := a.options()
	cmd := &cobra.Command{
		Use:   "diff NODE|KIND/NAME",
		Short: "Show how hosts differ from their catalogs now, with diffs",
		Long: "diff asks the agent of a node how its host differs from its catalog now, or the agents of all nodes that a resource selects.\n" +
			"Nothing changes. Commands of users and programs of external types are not started: what only they can tell is skipped.",
		Example: "  kubectl fettle diff web-1\n" +
			"  kubectl fettle diff File/motd",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runDiff(cmd, f, args[0]) },
	}
	cmd.ValidArgsFunction = f.completeNodeOrRef
	f.addReports(cmd)
	f.addCodes(cmd, "if there is a difference", "if something failed, is withheld or unknown, or a node is held, disabled or gives no answer")
	return cmd
}

func (a printer) runDiff(cmd *cobra.Command, f options, of string) error {
	client, err := f.connect()
	if err != nil {
		return err
	}
	if strings.ContainsAny(of, "/[") {
		all, err := a.ofResource(cmd.Context(), client, of)
		if err != nil {
			return err
		}
		return a.printDifferences(all, f)
	}
	d := client.Difference(cmd.Context(), of)
	if d.Err != nil {
		return d.Err
	}
	return a.printDifference(d, f)
}

// ofResource asks all nodes that a resource selects about it, unless it is withheld there.
func (a printer) ofResource(ctx context.Context, client *overview.Client, ref string) ([]overview.Difference, error) {
	r, err := client.Resource(ctx, ref)
	if err != nil {
		return nil, err
	}
	candidates, err := client.Candidates(ctx, "")
	if err != nil {
		return nil, err
	}
	explained, err := overview.Why(r, candidates)
	if err != nil {
		return nil, fmt.Errorf("%s selects no node: %w", r.Ref(), err)
	}
	explained = slices.DeleteFunc(explained, func(e overview.Explanation) bool { return !e.Shown() })
	if len(explained) == 0 {
		return nil, fmt.Errorf("%s selects no node: it selects %s", r.Ref(), overview.Selects(r))
	}
	return client.DifferencesOf(ctx, r.Ref(), explained, overview.CatalogsOf(candidates)), nil
}

// printDifference prints the answer of one node, after what keeps it from what its resources say.
func (a printer) printDifference(d overview.Difference, f options) error {
	if f.format != formatText {
		if err := a.Encode([]answer{answerOf(d)}, f.format); err != nil {
			return err
		}
		return f.exit(differs(d), fails(d))
	}
	if d.State.NeedsAttention() {
		a.PrintIn(output.Red, "%s is %s: %s", d.Node, strings.ToLower(string(d.State)), d.StateMessage)
	}
	for _, w := range d.Withheld {
		a.PrintIn(output.Red, "%s: withheld: %s", w.Ref, cmp.Or(w.Message, w.Reason))
	}
	a.printResources(d.Report)
	a.Print("%s", d.Report.Summary()+countedIf(len(d.Withheld), "withheld"))
	return f.exit(differs(d), fails(d))
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

// printDifferences prints the answers of nodes. Without all of them, the exit code is 1, unless detailed ones are wanted.
func (a printer) printDifferences(asked []overview.Difference, f options) error {
	for _, d := range asked {
		if d.Err != nil {
			a.Warn("%v", d.Err)
		}
	}
	if f.format == formatText {
		a.printAnswers(asked)
	} else {
		answers := make([]answer, len(asked))
		for i, d := range asked {
			answers[i] = answerOf(d)
		}
		if err := a.Encode(answers, f.format); err != nil {
			return err
		}
	}
	if !f.codes && slices.ContainsFunc(asked, func(d overview.Difference) bool { return d.Err != nil }) {
		return output.Exit(1)
	}
	return f.exit(slices.ContainsFunc(asked, differs), slices.ContainsFunc(asked, fails))
}

// printWithheld says where and why a resource is withheld.
func (a printer) printWithheld(asked []overview.Difference) {
	nodes := map[string][]string{}
	for _, d := range asked {
		for _, w := range d.Withheld {
			nodes[w.Message] = append(nodes[w.Message], d.Node)
		}
	}
	for _, message := range slices.Sorted(maps.Keys(nodes)) {
		a.PrintIn(output.Red, "%s:", text.List(nodes[message]))
		a.PrintIn(output.Red, "withheld: %s", message)
	}
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

// printAnswers prints those of nodes that differ in the same way together, then where the resource is withheld.
func (a printer) printAnswers(asked []overview.Difference) {
	reports := slices.DeleteFunc(slices.Clone(asked), func(d overview.Difference) bool { return d.Err != nil || len(d.Withheld) > 0 })
	for _, g := range overview.Alike(reports) {
		if len(g.Report.Resources) > 0 {
			a.Print("%s:", text.List(g.Nodes))
			a.printResources(g.Report)
		}
	}
	a.printWithheld(asked)
	a.Print("%s", tally(asked))
}

func (a printer) printResources(r report.Report) {
	for _, res := range r.Resources {
		a.Resource(res, true)
	}
}
