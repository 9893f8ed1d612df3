package fleet

import (
	"context"
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

// A nodeSwitch is what disable and enable share: the flags that choose nodes.
type nodeSwitch struct {
	shared
	all      bool
	selector string
	dryRun   flags.DryRun
}

const useNodes = " (NODE ... | -l SELECTOR | --all)"

// add adds the flags to a command.
func (c *nodeSwitch) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.all, "all", false, "all nodes of the cluster, and those that join")
	cmd.Flags().StringVarP(&c.selector, "selector", "l", "", "nodes with matching labels, such as role=web")
	c.dryRun.Add(cmd)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, given []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		names, how := c.completeNode(cmd, given, word)
		return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(given, name) }), how
	}
}

// check checks that there is one way in which nodes are chosen.
func (c *nodeSwitch) check(cmd *cobra.Command, nodes []string) error {
	ways := 0
	for _, given := range []bool{len(nodes) > 0, cmd.Flags().Changed("selector"), c.all} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return errors.New("name nodes, or use either -l SELECTOR or --all")
	}
	if _, err := labels.Parse(c.selector); err != nil {
		return fmt.Errorf("--selector %q: %w", c.selector, err)
	}
	return c.dryRun.Check()
}

// to returns the switch for a new value.
func (c *nodeSwitch) to(d *v1alpha1.Disabled) overview.Switch {
	return overview.Switch{Disabled: d, DryRun: c.dryRun.Server()}
}

// names returns the nodes that the arguments or the selector choose, each once. kubectl get -o name prints them as node/NAME.
func (c *nodeSwitch) names(ctx context.Context, client *overview.Client, nodes []string) ([]string, error) {
	if len(nodes) == 0 {
		return client.Labelled(ctx, c.selector)
	}
	var names []string
	for _, node := range nodes {
		if name := strings.TrimPrefix(node, "node/"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// A disableCommand is disable.
type disableCommand struct {
	nodeSwitch
	reason, until string
}

func newDisable(s shared) *cobra.Command {
	c := disableCommand{nodeSwitch: nodeSwitch{shared: s}}
	cmd := &cobra.Command{
		Use:   "disable" + useNodes,
		Short: "Prevent agents from running on nodes, or on all nodes of the cluster",
		Long: "disable prevents the agents of nodes from running until kubectl fettle enable, or until --until. The nodes report\n" +
			"the reason, and so does every overview. A run in progress ends as usual. --all covers nodes that join, too. It needs\n" +
			"the right to patch NodeCatalogs or, for --all, the Fleet. fettle disable, on a host, needs no cluster.",
		Example: "  kubectl fettle disable web-1 --reason \"the disk is being replaced\" --until 2h\n" +
			"  kubectl fettle disable -l role=web --until 2026-01-02T06:00:00Z\n" +
			"  kubectl fettle disable --all --reason \"see the incident\"",
		Args: c.check,
		RunE: func(cmd *cobra.Command, nodes []string) error { return c.run(cmd.Context(), nodes) },
	}
	c.add(cmd)
	cmd.Flags().StringVar(&c.reason, "reason", "", "why, for others to read")
	cmd.Flags().StringVar(&c.until, "until", "", "when runs resume by themselves: a duration such as 2h or 7d, or a time such as 2026-01-02T15:04:05Z")
	return cmd
}

func (c *disableCommand) run(ctx context.Context, nodes []string) error {
	d, err := c.disabled(time.Now())
	if err != nil {
		return err
	}
	client, err := c.connect()
	if err != nil {
		return err
	}
	if c.all {
		before, err := client.SwitchFleet(ctx, c.to(d))
		if err == nil {
			c.out.Print("%s", overview.DisabledLine("all nodes", before, d, c.dryRun.Done()))
		}
		return err
	}
	names, err := c.names(ctx, client, nodes)
	if err != nil {
		return err
	}
	before, err := client.SwitchNodes(ctx, names, c.to(d))
	if err != nil {
		return err
	}
	for i, name := range names {
		c.out.Print("%s", overview.DisabledLine("node "+name, before[i], d, c.dryRun.Done()))
	}
	return nil
}

// disabled returns what is written.
func (c *disableCommand) disabled(now time.Time) (*v1alpha1.Disabled, error) {
	d := &v1alpha1.Disabled{Reason: c.reason}
	if c.until == "" {
		return d, nil
	}
	until, err := flags.Until(c.until, now)
	if err != nil {
		return nil, fmt.Errorf("--until %q %w", c.until, err)
	}
	d.Until = &metav1.Time{Time: until}
	return d, nil
}

// An enableCommand is enable.
type enableCommand struct{ nodeSwitch }

func newEnable(s shared) *cobra.Command {
	c := enableCommand{nodeSwitch{shared: s}}
	cmd := &cobra.Command{
		Use:   "enable" + useNodes,
		Short: "Allow agents to run on nodes, or on all nodes of the cluster, again",
		Long: "enable ends what kubectl fettle disable began. It says if a node remains disabled: by itself, with all nodes, or by\n" +
			"fettle disable on its host.",
		Example: "  kubectl fettle enable web-1\n" +
			"  kubectl fettle enable --all",
		Args: c.check,
		RunE: func(cmd *cobra.Command, nodes []string) error { return c.run(cmd.Context(), nodes) },
	}
	c.add(cmd)
	return cmd
}

func (c *enableCommand) run(ctx context.Context, nodes []string) error {
	client, err := c.connect()
	if err != nil {
		return err
	}
	if c.all {
		return c.enableAll(ctx, client)
	}
	names, err := c.names(ctx, client, nodes)
	if err != nil {
		return err
	}
	before, err := client.SwitchNodes(ctx, names, c.to(nil))
	if err != nil {
		return err
	}
	for i, name := range names {
		remains := before[i].WithoutOwn().Remains(time.Now())
		c.out.Print("%s", overview.EnabledLine("node "+name, before[i], remains, c.dryRun.Done()))
	}
	return nil
}

func (c *enableCommand) enableAll(ctx context.Context, client *overview.Client) error {
	before, err := client.SwitchFleet(ctx, c.to(nil))
	if err != nil {
		return err
	}
	c.out.Print("%s", overview.EnabledLine("all nodes", before, "", c.dryRun.Done()))
	controls, err := client.Controls(ctx)
	if err != nil {
		return fmt.Errorf("all nodes were enabled, but whether some remain disabled is unknown: %w", err)
	}
	for _, control := range controls {
		if why := control.WithoutFleet().Remains(time.Now()); why != "" {
			c.out.Print("node %s remains %s", control.Name, why)
		}
	}
	return nil
}
