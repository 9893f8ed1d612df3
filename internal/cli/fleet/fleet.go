// Package fleet is kubectl fettle: the commands about the nodes of a cluster.
package fleet

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/source"
)

// Name is how users call the plugin.
const Name = "kubectl fettle"

// Command returns kubectl fettle. It reads manifests with a loader.
func Command(out *output.Printer, from source.Loader) *cobra.Command {
	a := printer{out, &flags.Cluster{}}
	cmd := &cobra.Command{
		Use:   "fettle",
		Short: "Show the state of a cluster's nodes, and plan changes",
		Long: Name + " shows the state of the nodes that Fettle manages, what drifted, and what a change would do. It sees what\n" +
			"you may read, and takes the flags of kubectl. kubectl apply changes resources; fettle, without kubectl, acts on\n" +
			"one machine.",
		Example: "  kubectl fettle status\n" +
			"  kubectl fettle why File/motd\n" +
			"  kubectl fettle plan -f manifests/",
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: Name},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}, // kubectl completes its plugins
	}
	a.access.AddAll(cmd)
	cmd.AddCommand(a.status(), a.drift(), a.why(), a.diff(), a.report(), a.catalog(), a.plan(from), a.disable(), a.enable(), a.ui(), a.version(), a.completion())
	return cmd
}

// A printer prints overviews of the cluster that its flags select.
type printer struct {
	*output.Printer
	access *flags.Cluster
}

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
	access *flags.Cluster
	format string
	codes  bool
}

func (a printer) options() options { return options{access: a.access} }

// add adds the flags of commands that print a table and have exit codes.
func (f *options) add(cmd *cobra.Command, differs, fails string) {
	f.addTable(cmd)
	f.addCodes(cmd, differs, fails)
}

// addCodes adds the flag for exit codes, for what differs and what fails.
func (f *options) addCodes(cmd *cobra.Command, differs, fails string) {
	cmd.Flags().BoolVar(&f.codes, "detailed-exitcodes", false, fmt.Sprintf("exit with 2 %s, 4 %s, 6 for both (default: 0)", differs, fails))
}

// addTable adds the flags of commands that print a table.
func (f *options) addTable(cmd *cobra.Command) {
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

// exit returns the exit code of what was found, if codes are wanted: those of Puppet, where whatever is withheld, held or unknown
// counts as failed.
func (f *options) exit(differs, fails bool) error {
	code := 0
	if differs {
		code |= 2
	}
	if fails {
		code |= 4
	}
	if !f.codes || code == 0 {
		return nil
	}
	return output.Exit(code)
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
