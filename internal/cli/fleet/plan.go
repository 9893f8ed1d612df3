package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/source"
)

// A planCommand is plan.
type planCommand struct {
	shared
	output  flags.Output
	codes   flags.ExitCodes
	sources source.Request
	// policies are the files of --policy.
	policies []string
	spec     reports.PlanSpec
	limit    time.Duration
	// failOnChange is an old form of --detailed-exitcodes.
	failOnChange bool
}

func newPlan(s shared) *cobra.Command {
	c := planCommand{shared: s}
	cmd := &cobra.Command{
		Use:   "plan (-f FILE|DIR|URL|- | -k DIR)",
		Short: "Show what a change of resources would do to the nodes of the cluster, with diffs",
		Long: "plan compiles the change for all nodes, and asks the agents of those whose catalogs change what it would do to their hosts.\n" +
			"Nothing is applied. Commands of users and programs of external types are not started: what only they can tell is unknown.\n" +
			"Nodes with the same outcome are shown together. The last line names the RolloutPolicies that the change would pass, in their order,\n" +
			"and how long that takes at least. Nodes that wait for an earlier rollout are not asked.",
		Example: "  kubectl fettle plan -f manifests/\n" +
			"  kubectl fettle plan -f manifests/ --policy prod.yaml\n" +
			"  kubectl fettle plan -f manifests/ --prune -l team=web -o markdown\n" +
			"  kubectl fettle plan -f motd.yaml --sample 3 --detailed-exitcodes",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.output.Add(cmd, flags.Table, flags.Table, flags.JSON, flags.YAML, flags.Markdown)
	cmd.Flags().Lookup("output").Usage = "table, json, yaml, or markdown for a pull request"
	f := cmd.Flags()
	f.StringSliceVarP(&c.sources.Files, "filename", "f", nil, "file, directory or https URL of manifests, or - for stdin; may be repeated")
	f.BoolVarP(&c.sources.Recursive, "recursive", "R", false, "also read subdirectories of the directories given with -f")
	f.StringVarP(&c.sources.Kustomize, "kustomize", "k", "", "directory of a kustomization to build, instead of -f; requires kustomize or kubectl")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json") // it was just added
	_ = cmd.MarkFlagDirname("kustomize")
	f.StringSliceVar(&c.policies, "policy", nil, "file with RolloutPolicies that are assumed to exist, instead of those of the cluster with the same names; may be repeated")
	_ = cmd.MarkFlagFilename("policy", "yaml", "yml", "json") // it was just added
	f.BoolVar(&c.spec.Prune, "prune", false, "delete the resources of the cluster that the manifests lack")
	f.StringVarP(&c.spec.Selector, "selector", "l", "", "limit --prune to resources with these labels, such as team=web")
	f.Int32Var(&c.spec.Sample, "sample", 0, "how many nodes to ask of those whose catalogs change in the same way (default: all)")
	flags.Duration(cmd, &c.limit, "timeout", 2*time.Minute, "when to stop asking; a node has ten seconds to answer")
	c.codes.Add(cmd, "if a host would change or might", "if something would fail, be withheld or is unknown, or a node is held, disabled, silent or gives no answer")
	f.BoolVar(&c.failOnChange, "fail-on-change", false, "")
	_ = f.MarkHidden("fail-on-change") // it was just added
	return cmd
}

func (c *planCommand) check() error {
	switch {
	case c.failOnChange:
		return errors.New("--fail-on-change is now --detailed-exitcodes: it exits with 2 for changes, 4 for what would break, and 6 for both")
	case c.sources.Empty():
		return errors.New("no manifests: use -f FILE, -f DIR, -f URL, -k DIR or, for stdin, -f -")
	case c.spec.Selector != "" && !c.spec.Prune:
		return errors.New("--selector limits what --prune deletes: use both")
	case c.spec.Sample < 0:
		return fmt.Errorf("--sample %d is negative: use 0 to ask all nodes", c.spec.Sample)
	case c.limit <= 0:
		return fmt.Errorf("--timeout %s is no time: use 1s or more", c.limit)
	}
	return nil
}

func (c *planCommand) run(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	all, err := source.Loader{Stdin: c.In, Kustomize: c.Kustomize}.Expand(c.sources)
	if err != nil {
		return err
	}
	spec := c.spec
	if spec.Manifests, err = c.ownManifests(ctx, all); err != nil {
		return err
	}
	changed, err := c.readPolicies(ctx)
	if err != nil {
		return err
	}
	client, err := c.connect()
	if err != nil {
		return err
	}
	p, err := client.Plan(ctx, spec, c.limit)
	if err != nil {
		return err
	}
	if p.Nodes.Affected > 0 {
		c.countStates(ctx, client, p)
		c.passThrough(ctx, client, p, changed)
	}
	for _, note := range p.Notes {
		c.out.Warn("note: %s", note)
	}
	if err := c.output.Print(c.out, p, func() { c.print(p) }); err != nil {
		return err
	}
	return c.codes.Exit(p.Differs(), p.Fails())
}

// countStates adds the states of the affected nodes to a plan.
func (c *planCommand) countStates(ctx context.Context, client *overview.Client, p *overview.Plan) {
	nodes, err := client.NodeCatalogs(ctx)
	if err != nil {
		c.out.Warn("cannot say which nodes are held, disabled or silent: %v", err)
		return
	}
	p.CountStates(nodes)
}

// ownManifests reads what is sent to the cluster: no Secrets, and nothing that is not of Fettle.
func (c *planCommand) ownManifests(ctx context.Context, all []source.Source) (own []reports.PlanManifest, err error) {
	var faults []manifest.Fault
	for _, s := range all {
		text, err := s.Read(ctx)
		if err != nil {
			return nil, err
		}
		kept, ignored, more := manifest.Filter(s.Name, text)
		faults = append(faults, more...)
		for _, other := range ignored {
			c.out.Warn("note: %s is not part of the plan", other)
		}
		if len(kept) > 0 {
			own = append(own, reports.PlanManifest{Name: s.Name, Text: string(kept)})
		}
	}
	for _, fault := range faults {
		c.out.WarnIn(output.Red, "%s", fault)
	}
	if len(faults) > 0 {
		return nil, errors.New("nothing was planned: correct the manifests first")
	}
	return own, nil
}
