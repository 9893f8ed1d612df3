// Package fleet has the commands about the nodes of a cluster.
package fleet

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/internal/text"
)

// Command returns fettle fleet.
func Command(out *output.Printer, from source.Loader) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Show the state of the nodes of a cluster",
		Long: "fleet shows the state of the nodes of a cluster, as far as you may read NodeCatalogs. As a plugin of kubectl, its\n" +
			"commands are those of kubectl fettle.",
		Example: "  fettle fleet status",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(Commands(out, from)...)
	return cmd
}

// Commands returns the subcommands, which are those of kubectl fettle, too. They read manifests with a loader.
func Commands(out *output.Printer, from source.Loader) []*cobra.Command {
	a := printer{out}
	return []*cobra.Command{a.status(), a.drift(), a.why(), a.diff(), a.report(), a.catalog(), a.plan(from), a.ui()}
}

// A printer prints overviews.
type printer struct{ *output.Printer }

// Formats of overviews.
const (
	formatTable = "table"
	formatWide  = "wide"
	formatJSON  = "json"
	formatYAML  = "yaml"
	formatCSV   = "csv"
)

// options are the flags of all commands about a fleet.
type options struct {
	access flags.Cluster
	format string
	codes  bool
}

func (f *options) add(cmd *cobra.Command, codes string) {
	f.addTable(cmd)
	cmd.Flags().BoolVar(&f.codes, "detailed-exitcodes", false, codes)
}

// addTable adds the flags of commands that print a table.
func (f *options) addTable(cmd *cobra.Command) {
	f.access.Add(cmd)
	flags.Output(cmd, &f.format, "table, wide, json, yaml or csv", formatTable, formatWide, formatJSON, formatYAML, formatCSV)
}

// connect returns a client for the cluster.
func (f *options) connect() (*overview.Client, error) {
	cfg, err := f.access.Config()
	if err != nil {
		return nil, err
	}
	return overview.Connect(cfg)
}

// nodes reads the NodeCatalogs.
func (f *options) nodes(cmd *cobra.Command) ([]overview.Node, error) {
	client, err := f.connect()
	if err != nil {
		return nil, err
	}
	return client.Nodes(cmd.Context())
}

// exit returns the exit code 2 if something was found and codes are wanted.
func (f *options) exit(found bool) error {
	if f.codes && found {
		return output.Exit(2)
	}
	return nil
}

func (a printer) status() *cobra.Command {
	var f options
	var watch bool
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show the fleet on one screen: nodes, resources, recent drift, and problems",
		Example: "  fettle fleet status\n  fettle fleet status --watch",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch {
				return a.watch(cmd, f)
			}
			nodes, err := f.nodes(cmd)
			if err != nil {
				return err
			}
			s := overview.StatusOf(nodes, time.Now())
			if err := a.printStatus(s, f.format, time.Now()); err != nil {
				return err
			}
			return f.exit(len(s.Problems) > 0)
		},
	}
	f.add(cmd, "exit with 2 if a node has a problem (default: 0)")
	cmd.Flags().BoolVar(&watch, "watch", false, "show the progress of the fleet until interrupted, from the object Fleet, which the manager writes every ten seconds at most")
	return cmd
}

// maxProblems is the number of problems in a table that is not wide.
const maxProblems = 20

func (a printer) printStatus(s overview.Status, format string, now time.Time) error {
	if format == formatJSON || format == formatYAML {
		return a.Encode(s, format)
	}
	problems := [][]string{{"NODE", "REASON", "SINCE", "MESSAGE"}}
	for _, p := range s.Problems {
		problems = append(problems, []string{p.Node, p.Reason, output.Age(p.Since, now, format), p.Message})
	}
	if format == formatCSV {
		return a.CSV(problems)
	}
	n, r := s.Nodes, s.Resources
	a.Table([][]string{
		{"Nodes", counts(n.Total, "total", n.Ready, "ready", n.Applying, "applying", n.Failed, "failed", n.Disabled, "disabled", n.Silent, "silent")},
		{"Resources", counts(r.Total, "total", r.InSync, "in sync", r.Noop, "noop", r.Skipped, "skipped", r.Failed, "failed")},
		{"Drift in 24 h", fmt.Sprintf("%s on %s, %d uncorrected", text.Count(s.Drift.Resources, "resource"), text.Count(s.Drift.Nodes, "node"), s.Drift.Uncorrected)},
	})
	if len(s.Problems) == 0 {
		return nil
	}
	shown := problems
	if format != formatWide {
		shown = problems[:min(len(problems), maxProblems+1)]
	}
	a.Print("")
	a.Table(shown)
	if more := len(problems) - len(shown); more > 0 {
		a.Print("and %d more: use -o wide", more)
	}
	return nil
}

// counts is "3 total, 2 ready", without what is 0 after the first.
func counts(pairs ...any) string {
	var parts []string
	for i := 0; i < len(pairs); i += 2 {
		if n := fmt.Sprint(pairs[i]); i == 0 || n != "0" {
			parts = append(parts, fmt.Sprint(n, " ", pairs[i+1]))
		}
	}
	return strings.Join(parts, ", ")
}

func (a printer) drift() *cobra.Command {
	var f options
	var q overview.Query
	var since time.Duration
	cmd := &cobra.Command{
		Use:   "drift [KIND/NAME ...]",
		Short: "Show what something other than Fettle changed, where, since when, how often, and with -o wide by whom",
		Long: "drift shows what something other than Fettle changed, whether it was corrected or only reported. Nodes keep the\n" +
			"latest 20 resources that drifted, for 30 days.",
		Example: "  fettle fleet drift\n" +
			"  fettle fleet drift --by node --since 24h\n" +
			"  fettle fleet drift File/motd --by both",
		RunE: func(cmd *cobra.Command, refs []string) error {
			q.Refs = refs
			return a.runDrift(cmd, f, q, since)
		},
	}
	f.add(cmd, "exit with 2 if there is drift (default: 0)")
	cmd.Flags().StringVar(&q.By, "by", overview.ByResource, "resource, node, kind, or both: each resource on each node")
	flags.Complete(cmd, "by", driftGroups()...)
	cmd.ValidArgsFunction = f.completeRef
	cmd.Flags().StringSliceVar(&q.Nodes, "node", nil, "only drift on this node; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("node", f.completeNode)
	cmd.Flags().DurationVar(&since, "since", 0, "only drift that was last found within this time, such as 24h (default: all)")
	cmd.Flags().IntVar(&q.Top, "top", 0, "the number of rows, most frequent first (default: all)")
	return cmd
}

func (a printer) runDrift(cmd *cobra.Command, f options, q overview.Query, since time.Duration) error {
	if err := checkDrift(q, since); err != nil {
		return err
	}
	nodes, err := f.nodes(cmd)
	if err != nil {
		return err
	}
	now := time.Now()
	if since > 0 {
		q.Since = now.Add(-since)
	}
	rows := overview.Drifts(nodes, q)
	if err := a.printDrift(rows, q.By, f.format, now); err != nil {
		return err
	}
	return f.exit(len(rows) > 0)
}

// checkDrift returns an error for arguments that are not valid.
func checkDrift(q overview.Query, since time.Duration) error {
	for _, ref := range q.Refs {
		if err := checkRef(ref); err != nil {
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

func checkRef(ref string) error {
	if kind, name, ok := strings.Cut(ref, "/"); !ok || kind == "" || name == "" {
		return fmt.Errorf("%q is not a resource: use KIND/NAME, such as File/motd", ref)
	}
	return nil
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
		column{"FIRST", func(d overview.Drift) string { return output.Age(d.FirstSeen, now, format) }},
		column{"LAST", func(d overview.Drift) string { return output.Age(d.LastSeen, now, format) }})
	if format != formatTable {
		columns = append(columns, column{"PROPERTIES", func(d overview.Drift) string { return strings.Join(d.Properties, ",") }},
			column{"AUTHOR", func(d overview.Drift) string { return (*host.Author)(d.Author).String() }})
	}
	return columns
}
