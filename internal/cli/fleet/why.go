package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/host"
)

func (a printer) why() *cobra.Command {
	var f options
	var node string
	cmd := &cobra.Command{
		Use:   "why KIND/NAME",
		Short: "Explain where a resource applies, its state on each node, and why",
		Long: "why explains which nodes a resource selects and by what, its state on each of them, and what it waits for. It reads the\n" +
			"resource, Nodes and NodeCatalogs. Nodes that are not selected are shown with -o wide.",
		Example: "  fettle fleet why File/motd\n" +
			"  fettle fleet why File/motd --node web-1",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runWhy(cmd, f, node, args[0]) },
	}
	f.add(cmd, "exit with 2 unless the resource is in sync on all nodes that it selects (default: 0)")
	cmd.ValidArgsFunction = f.completeOneRef
	cmd.Flags().StringVar(&node, "node", "", "only this node")
	_ = cmd.RegisterFlagCompletionFunc("node", f.completeNode)
	return cmd
}

func (a printer) runWhy(cmd *cobra.Command, f options, node, ref string) error {
	if err := checkRef(ref); err != nil {
		return err
	}
	client, err := f.connect()
	if err != nil {
		return err
	}
	kind, name, _ := strings.Cut(ref, "/")
	r, err := client.Resource(cmd.Context(), kind, name)
	if err != nil {
		return err
	}
	nodes, err := client.Candidates(cmd.Context(), node)
	if err != nil {
		return err
	}
	all, err := overview.Why(r, nodes)
	if err != nil {
		return fmt.Errorf("%s selects no node: %w", r.Ref(), err)
	}
	if err := a.printWhy(r, all, f.format, node != "", time.Now()); err != nil {
		return err
	}
	return f.exit(slices.ContainsFunc(all, func(e overview.Explanation) bool {
		return e.Selected && e.State != v1alpha1.StateInSync && e.State != v1alpha1.StateChanged
	}))
}

func (a printer) printWhy(r overview.Resource, all []overview.Explanation, format string, one bool, now time.Time) error {
	if format == formatJSON || format == formatYAML {
		return a.Encode(all, format)
	}
	table := [][]string{{"NODE", "SELECTED", "STATE", "SINCE", "DRIFT", "REASON"}}
	if format != formatTable {
		table[0] = slices.Insert(table[0], beforeAuthor, "AUTHOR")
	}
	selected := 0
	for _, e := range all {
		if e.Selected {
			selected++
		} else if format == formatTable && !one {
			continue
		}
		table = append(table, row(e, now, format))
	}
	if format == formatCSV {
		return a.CSV(table)
	}
	a.Table(about(r, selected, len(all), one))
	if len(table) > 1 {
		a.Print("")
		a.Table(table)
	}
	return nil
}

// beforeAuthor is the number of columns before AUTHOR.
const beforeAuthor = 5

func row(e overview.Explanation, now time.Time, format string) []string {
	since, drift, author := "", "", ""
	if e.Since != nil {
		since = output.Age(e.Since.Time, now, format)
	}
	if e.Drift != nil {
		drift, author = fmt.Sprint(e.Drift.Count), (*host.Author)(e.Drift.Author).String()
	}
	cells := []string{e.Node, map[bool]string{true: "yes", false: "no"}[e.Selected], string(e.State), since, drift, e.Reason}
	if format == formatTable {
		return cells
	}
	return slices.Insert(cells, beforeAuthor, author)
}

// about describes a resource, one thing in a row.
func about(r overview.Resource, selected, of int, one bool) [][]string {
	rows := [][]string{{"Resource", string(r.Ref())}}
	if ready := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		rows = append(rows, []string{"Ready", fmt.Sprintf("%s (%s): %s", ready.Status, ready.Reason, ready.Message)})
	}
	if contest := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionContended); contest != nil {
		rows = append(rows, []string{"Contended", contest.Message})
	}
	selects := overview.Selects(r)
	if !one {
		selects += fmt.Sprintf(": %d of %d", selected, of)
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

func list(refs []v1alpha1.ResourceRef) string {
	var all []string
	for _, r := range refs {
		all = append(all, string(r))
	}
	return strings.Join(all, ", ")
}
