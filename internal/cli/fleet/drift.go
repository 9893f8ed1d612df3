package fleet

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/cli/selection"
	"github.com/fettle-dev/fettle/internal/host"
)

func (a printer) drift() *cobra.Command {
	f := a.options()
	var q overview.Query
	var since time.Duration
	cmd := &cobra.Command{
		Use:   "drift [KIND/NAME ...]",
		Short: "Show what something other than Fettle changed, where, since when, how often, and with -o wide by whom",
		Long: "drift shows what something other than Fettle changed, and whether it was corrected. UNCORRECTED counts what was only\n" +
			"reported or could not be corrected, and FAILED the latter. Nodes keep the latest 20 resources that drifted, for 30 days.",
		Example: "  kubectl fettle drift\n" +
			"  kubectl fettle drift --by node --since 24h\n" +
			"  kubectl fettle drift File/motd --by both",
		RunE: func(cmd *cobra.Command, refs []string) error {
			q.Refs = refs
			return a.runDrift(cmd, f, q, since)
		},
	}
	f.add(cmd, "if there is drift", "if some cannot be corrected, or nodes did not check it")
	cmd.Flags().StringVar(&q.By, "by", overview.ByResource, "resource, node, kind, or both: each resource on each node")
	flags.Complete(cmd, "by", driftGroups()...)
	cmd.ValidArgsFunction = f.completeRef
	cmd.Flags().StringSliceVar(&q.Nodes, "node", nil, "only drift on this node; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("node", f.completeNode)
	flags.Duration(cmd, &since, "since", 0, "only drift that was last found within this time, such as 24h or 7d (default: all)")
	cmd.Flags().IntVar(&q.Top, "top", 0, "the number of rows, most frequent first (default: all)")
	return cmd
}

func (a printer) runDrift(cmd *cobra.Command, f options, q overview.Query, since time.Duration) error {
	if err := checkDrift(q, since); err != nil {
		return err
	}
	client, err := f.connect()
	if err != nil {
		return err
	}
	nodes, err := client.Nodes(cmd.Context())
	if err != nil {
		return err
	}
	if err := a.resolve(cmd.Context(), client, nodes, &q); err != nil {
		return err
	}
	now := time.Now()
	if since > 0 {
		q.Since = now.Add(-since)
	}
	rows, unchecked := overview.Drifts(nodes, q), overview.UncheckedBy(nodes, q)
	for _, u := range unchecked {
		a.Warn("%s", u.String())
	}
	if err := a.printDrift(rows, q.By, f.format, now); err != nil {
		return err
	}
	failed := slices.ContainsFunc(rows, func(d overview.Drift) bool { return d.Failed > 0 })
	return f.exit(len(rows) > 0, failed || len(unchecked) > 0)
}

// resolve checks that nodes and resources of a query exist, and gives their kinds the names that nodes report. Resources that are gone,
// or that others generated, are known by their drift alone.
func (a printer) resolve(ctx context.Context, client *overview.Client, nodes []overview.Node, q *overview.Query) error {
	if err := overview.CheckNodes(nodes, q.Nodes); err != nil {
		return err
	}
	for i, ref := range q.Refs {
		if overview.HasDrifted(nodes, ref) {
			continue
		}
		r, err := client.Resource(ctx, ref)
		switch {
		case apierrors.IsForbidden(err):
			a.Warn("cannot say whether there is a %s: %v", ref, err)
		case err != nil:
			return err
		default:
			q.Refs[i] = string(r.Ref())
		}
	}
	return nil
}

// checkDrift returns an error for arguments that are not valid.
func checkDrift(q overview.Query, since time.Duration) error {
	for _, ref := range q.Refs {
		if _, _, err := selection.Split(ref); err != nil {
			return err
		}
	}
	if since < 0 {
		return fmt.Errorf("--since %s is negative", since)
	}
	if q.Top < 0 {
		return fmt.Errorf("--top %d is negative", q.Top)
	}
	return flags.OneOf("--by", q.By, driftGroups()...)
}

func driftGroups() []string {
	return []string{overview.ByResource, overview.ByNode, overview.ByKind, overview.ByBoth}
}

func (a printer) printDrift(rows []overview.Drift, by, format string, now time.Time) error {
	if format == formatJSON || format == formatYAML {
		return a.Encode(rows, format)
	}
	columns := driftColumns(by, format, now)
	table := [][]string{nil}
	for _, c := range columns {
		table[0] = append(table[0], c.name)
	}
	for _, row := range rows {
		var cells []string
		for _, c := range columns {
			cells = append(cells, c.cell(row))
		}
		table = append(table, cells)
	}
	if format == formatCSV {
		return a.CSV(table)
	}
	if len(rows) == 0 {
		a.Warn("no drift found")
		return nil
	}
	a.Table(table)
	return nil
}

// A column of a table of drift.
type column struct {
	name string
	cell func(overview.Drift) string
}

func driftColumns(by, format string, now time.Time) []column {
	resource := column{"RESOURCE", func(d overview.Drift) string { return d.Resource }}
	node := column{"NODE", func(d overview.Drift) string { return d.Node }}
	kind := column{"KIND", func(d overview.Drift) string { return d.Kind }}
	resources := column{"RESOURCES", func(d overview.Drift) string { return strconv.Itoa(d.Resources) }}
	nodes := column{"NODES", func(d overview.Drift) string { return strconv.Itoa(d.Nodes) }}
	columns := map[string][]column{
		overview.ByResource: {resource, nodes}, overview.ByNode: {node, resources}, overview.ByKind: {kind, resources, nodes}, overview.ByBoth: {resource, node},
	}[by]
	columns = append(columns,
		column{"COUNT", func(d overview.Drift) string { return strconv.FormatInt(d.Count, 10) }},
		column{"UNCORRECTED", func(d overview.Drift) string { return strconv.Itoa(d.Uncorrected) }},
		column{"FAILED", func(d overview.Drift) string { return strconv.Itoa(d.Failed) }},
		column{"FIRST", func(d overview.Drift) string { return output.Age(d.FirstSeen, now, format) }},
		column{"LAST", func(d overview.Drift) string { return output.Age(d.LastSeen, now, format) }})
	if format != formatTable {
		columns = append(columns, column{"PROPERTIES", func(d overview.Drift) string { return strings.Join(d.Properties, ",") }},
			column{"AUTHOR", func(d overview.Drift) string { return (*host.Author)(d.Author).String() }})
	}
	return columns
}
