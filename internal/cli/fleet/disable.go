package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/overview"
)

// switchFlags are the flags of disable and enable.
type switchFlags struct {
	options
	all           bool
	selector      string
	dryRun        string
	reason, until string // of disable
}

// Values of --dry-run, as in kubectl.
const (
	dryRunNone   = "none"
	dryRunServer = "server"
)

const useNodes = " (NODE ... | -l SELECTOR | --all)"

func (a printer) disable() *cobra.Command {
	f := switchFlags{options: a.options()}
	cmd := &cobra.Command{
		Use:   "disable" + useNodes,
		Short: "Prevent agents from running on nodes, or on all nodes of the cluster",
		Long: "disable prevents the agents of nodes from running until kubectl fettle enable, or until --until. The nodes report\n" +
			"the reason, and so does every overview. A run in progress ends as usual. --all covers nodes that join, too. It needs\n" +
			"the right to patch NodeCatalogs or, for --all, the Fleet. fettle disable, on a host, needs no cluster.",
		Example: "  kubectl fettle disable web-1 --reason \"the disk is being replaced\" --until 2h\n" +
			"  kubectl fettle disable -l role=web --until 2026-01-02T06:00:00Z\n" +
			"  kubectl fettle disable --all --reason \"see the incident\"",
		Args: f.checkNodes,
		RunE: func(cmd *cobra.Command, nodes []string) error {
			disabled, err := f.disabled(time.Now())
			if err != nil {
				return err
			}
			return a.runDisable(cmd, f, nodes, disabled)
		},
	}
	f.addSwitch(cmd)
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for others to read")
	cmd.Flags().StringVar(&f.until, "until", "", "when runs resume by themselves: a duration such as 2h or 7d, or a time such as 2026-01-02T15:04:05Z")
	return cmd
}

func (a printer) enable() *cobra.Command {
	f := switchFlags{options: a.options()}
	cmd := &cobra.Command{
		Use:   "enable" + useNodes,
		Short: "Allow agents to run on nodes, or on all nodes of the cluster, again",
		Long: "enable ends what kubectl fettle disable began. It says if a node remains disabled: by itself, with all nodes, or by\n" +
			"fettle disable on its host.",
		Example: "  kubectl fettle enable web-1\n" +
			"  kubectl fettle enable --all",
		Args: f.checkNodes,
		RunE: func(cmd *cobra.Command, nodes []string) error { return a.runEnable(cmd, f, nodes) },
	}
	f.addSwitch(cmd)
	return cmd
}

func (f *switchFlags) addSwitch(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.all, "all", false, "all nodes of the cluster, and those that join")
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", "nodes with matching labels, such as role=web")
	cmd.Flags().StringVar(&f.dryRun, "dry-run", dryRunNone, "none, or server: the API server checks the change, and stores nothing")
	flags.Complete(cmd, "dry-run", dryRunNone, dryRunServer)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, given []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		names, how := f.completeNode(cmd, given, word)
		return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(given, name) }), how
	}
}

// checkNodes checks that there is one way in which nodes are chosen.
func (f *switchFlags) checkNodes(cmd *cobra.Command, nodes []string) error {
	ways := 0
	for _, given := range []bool{len(nodes) > 0, cmd.Flags().Changed("selector"), f.all} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return errors.New("name nodes, or use either -l SELECTOR or --all")
	}
	if _, err := labels.Parse(f.selector); err != nil {
		return fmt.Errorf("--selector %q: %w", f.selector, err)
	}
	return flags.OneOf("--dry-run", f.dryRun, dryRunNone, dryRunServer)
}

// disabled returns what is written.
func (f *switchFlags) disabled(now time.Time) (*v1alpha1.Disabled, error) {
	d := &v1alpha1.Disabled{Reason: f.reason}
	if f.until == "" {
		return d, nil
	}
	until, err := flags.Until(f.until, now)
	if err != nil {
		return nil, fmt.Errorf("--until %q %w", f.until, err)
	}
	d.Until = &metav1.Time{Time: until}
	return d, nil
}

// to returns the switch for a new value.
func (f *switchFlags) to(d *v1alpha1.Disabled) overview.Switch {
	return overview.Switch{Disabled: d, DryRun: f.dryRun == dryRunServer}
}

// done is the end of a line about something that was done.
func (f *switchFlags) done() string {
	if f.dryRun == dryRunServer {
		return " (server dry run)"
	}
	return ""
}

// names returns the nodes that the arguments or the selector choose, each once. kubectl get -o name prints them as node/NAME.
func (f *switchFlags) names(cmd *cobra.Command, client *overview.Client, nodes []string) ([]string, error) {
	if len(nodes) == 0 {
		return client.Labelled(cmd.Context(), f.selector)
	}
	var names []string
	for _, node := range nodes {
		if name := strings.TrimPrefix(node, "node/"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

func (a printer) runDisable(cmd *cobra.Command, f switchFlags, nodes []string, d *v1alpha1.Disabled) error {
	client, err := f.connect()
	if err != nil {
		return err
	}
	if f.all {
		before, err := client.SwitchFleet(cmd.Context(), f.to(d))
		if err == nil {
			a.Print("%s", overview.DisabledLine("all nodes", before, d, f.done()))
		}
		return err
	}
	names, err := f.names(cmd, client, nodes)
	if err != nil {
		return err
	}
	before, err := client.SwitchNodes(cmd.Context(), names, f.to(d))
	if err != nil {
		return err
	}
	for i, name := range names {
		a.Print("%s", overview.DisabledLine("node "+name, before[i], d, f.done()))
	}
	return nil
}

func (a printer) runEnable(cmd *cobra.Command, f switchFlags, nodes []string) error {
	client, err := f.connect()
	if err != nil {
		return err
	}
	if f.all {
		return a.enableAll(cmd, f, client)
	}
	names, err := f.names(cmd, client, nodes)
	if err != nil {
		return err
	}
	before, err := client.SwitchNodes(cmd.Context(), names, f.to(nil))
	if err != nil {
		return err
	}
	for i, name := range names {
		remains := before[i].WithoutOwn().Remains(time.Now())
		a.Print("%s", overview.EnabledLine("node "+name, before[i], remains, f.done()))
	}
	return nil
}

func (a printer) enableAll(cmd *cobra.Command, f switchFlags, client *overview.Client) error {
	before, err := client.SwitchFleet(cmd.Context(), f.to(nil))
	if err != nil {
		return err
	}
	a.Print("%s", overview.EnabledLine("all nodes", before, "", f.done()))
	controls, err := client.Controls(cmd.Context())
	if err != nil {
		return fmt.Errorf("all nodes were enabled, but whether some remain disabled is unknown: %w", err)
	}
	for _, c := range controls {
		if why := c.WithoutFleet().Remains(time.Now()); why != "" {
			a.Print("node %s remains %s", c.Name, why)
		}
	}
	return nil
}
