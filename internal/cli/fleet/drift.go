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

// A driftCommand is drift.
type driftCommand struct {
	shared
	output flags.Output
	codes  flags.ExitCodes
	query  overview.Query
	since  time.Duration
}

func newDrift(s shared) *cobra.Command {
	c := driftCommand{shared: s}
	cmd := &cobra.Command{
		Use:   "drift [KIND/NAME ...]",
		Short: "Show what something other than Fettle changed, where, since when, how often, and with -o wide by whom",
		Long: "drift shows what something other than Fettle changed, and whether it was corrected. UNCORRECTED counts what was only\n" +
			"reported or could not be corrected, and FAILED the latter. Nodes keep the latest 20 resources that drifted, for 30 days.",
		Example: "  kubectl fettle drift\n" +
			"  kubectl fettle drift --by node --since 24h\n" +
			"  kubectl fettle drift File/motd --by both",
		ValidArgsFunction: c.completeRef,
		RunE:              func(cmd *cobra.Command, refs []string) error { return c.run(cmd.Context(), refs) },
	}
	c.output.AddTable(cmd)
	c.codes.Add(cmd, "if there is drift", "if some cannot be corrected, or nodes did not check it")
	cmd.Flags().StringVar(&c.query.By, "by", overview.ByResource, "resource, node, kind, or both: each resource on each node")
	flags.Complete(cmd, "by", driftGroups()...)
	cmd.Flags().StringSliceVar(&c.query.Nodes, "node", nil, "only drift on this node; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("node", c.completeNode)
	flags.Duration(cmd, &c.since, "since", 0, "only drift that was last found within this time, such as 24h or 7d (default: all)")
	cmd.Flags().IntVar(&c.query.Top, "top", 0, "the number of rows, most frequent first (default: all)")
	return cmd
}

func (c *driftCommand) run(ctx context.Context, refs []string) error {
	if err := c.check(refs); err != nil {
		return err
	}
	client, err := c.connect()
	if err != nil {
		return err
	}
	nodes, err := client.NodeCatalogs(ctx)
	if err != nil {
		return err
	}
	q := c.query
	if q.Refs, err = c.resolve(ctx, client, nodes, refs); err != nil {
		return err
	}
	now := time.Now()
	if c.since > 0 {
		q.Since = now.Add(-c.since)
	}
	drifted, unchecked := overview.Drifts(nodes, q), overview.UncheckedBy(nodes, q)
	for _, u := range unchecked {
		c.out.Warn("%s", u.String())
	}
	if err := c.print(drifted, now); err != nil {
		return err
	}
	failed := slices.ContainsFunc(drifted, func(d overview.Drift) bool { return d.Failed > 0 })
	return c.codes.Exit(len(drifted) > 0, failed || len(unchecked) > 0)
}

// resolve checks that the nodes of the query and resources exist, and gives their kinds the names that nodes report. Resources that are gone,
// or that others generated, are known by their drift alone.
func (c *driftCommand) resolve(ctx context.Context, client *overview.Client, nodes []overview.NodeCatalog, refs []string) ([]string, error) {
	if err := overview.CheckNodes(nodes, c.query.Nodes); err != nil {
		return nil, err
	}
	resolved := slices.Clone(refs)
	for i, ref := range refs {
		if overview.HasDrifted(nodes, ref) {
			continue
		}
		r, err := client.Resource(ctx, ref)
		switch {
		case apierrors.IsForbidden(err):
			c.out.Warn("cannot say whether there is a %s: %v", ref, err)
		case err != nil:
			return nil, err
		default:
			resolved[i] = string(r.Ref())
		}
	}
	return resolved, nil
}

// check returns an error for arguments that are not valid.
func (c *driftCommand) check(refs []string) error {
	for _, ref := range refs {
		if _, _, err := selection.Split(ref); err != nil {
			return err
		}
	}
	if c.since < 0 {
		return fmt.Errorf("--since %s is negative", c.since)
	}
	if c.query.Top < 0 {
		return fmt.Errorf("--top %d is negative", c.query.Top)
	}
	return flags.OneOf("--by", c.query.By, driftGroups()...)
}

func driftGroups() []string {
	return []string{overview.ByResource, overview.ByNode, overview.ByKind, overview.ByBoth}
}

func (c *driftCommand) print(drifted []overview.Drift, now time.Time) error {
	columns := c.columns(now)
	rows := [][]string{nil}
	for _, col := range columns {
		rows[0] = append(rows[0], col.name)
	}
	for _, d := range drifted {
		var cells []string
		for _, col := range columns {
			cells = append(cells, col.cell(d))
		}
		rows = append(rows, cells)
	}
	return c.output.PrintTable(c.out, drifted, rows, func() {
		if len(drifted) == 0 {
			c.out.Warn("no drift found")
			return
		}
		c.out.Table(rows)
	})
}

// A column of a table of drift.
type column struct {
	name string
	cell func(overview.Drift) string
}

func (c *driftCommand) columns(now time.Time) []column {
	resource := column{"RESOURCE", func(d overview.Drift) string { return d.Resource }}
	node := column{"NODE", func(d overview.Drift) string { return d.Node }}
	kind := column{"KIND", func(d overview.Drift) string { return d.Kind }}
	resources := column{"RESOURCES", func(d overview.Drift) string { return strconv.Itoa(d.Resources) }}
	nodes := column{"NODES", func(d overview.Drift) string { return strconv.Itoa(d.Nodes) }}
	columns := map[string][]column{
		overview.ByResource: {resource, nodes}, overview.ByNode: {node, resources}, overview.ByKind: {kind, resources, nodes}, overview.ByBoth: {resource, node},
	}[c.query.By]
	columns = append(columns,
		column{"COUNT", func(d overview.Drift) string { return strconv.FormatInt(d.Count, 10) }},
		column{"UNCORRECTED", func(d overview.Drift) string { return strconv.Itoa(d.Uncorrected) }},
		column{"FAILED", func(d overview.Drift) string { return strconv.Itoa(d.Failed) }},
		column{"FIRST", func(d overview.Drift) string { return output.Age(d.FirstSeen, now, c.output.String()) }},
		column{"LAST", func(d overview.Drift) string { return output.Age(d.LastSeen, now, c.output.String()) }})
	if !c.output.Is(flags.Table) {
		columns = append(columns, column{"PROPERTIES", func(d overview.Drift) string { return strings.Join(d.Properties, ",") }},
			column{"AUTHOR", func(d overview.Drift) string { return (*host.Author)(d.Author).String() }})
	}
	return columns
}
