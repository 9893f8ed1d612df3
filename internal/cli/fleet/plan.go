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
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/source"
)

const formatMarkdown = "markdown"

// planFlags are the flags of plan.
type planFlags struct {
	options
	sources source.Request
	spec    reports.PlanSpec
	limit   time.Duration
	// failOnChange is an old form of --detailed-exitcodes.
	failOnChange bool
}

func (a printer) plan(from source.Loader) *cobra.Command {
	f := planFlags{options: a.options()}
	cmd := &cobra.Command{
		Use:   "plan (-f FILE|DIR|URL|- | -k DIR)",
		Short: "Show what a change of resources would do to the nodes of the cluster, with diffs",
		Long: "plan compiles the change for all nodes, and asks the agents of those whose catalogs change what it would do to their hosts.\n" +
			"Nothing is applied. Commands of users and programs of external types are not started: what only they can tell is unknown.\n" +
			"Nodes with the same outcome are shown together.",
		Example: "  kubectl fettle plan -f manifests/\n" +
			"  kubectl fettle plan -f manifests/ --prune -l team=web -o markdown\n" +
			"  kubectl fettle plan -f motd.yaml --sample 3 --detailed-exitcodes",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runPlan(cmd.Context(), from, f) },
	}
	formats := []string{formatTable, formatJSON, formatYAML, formatMarkdown}
	cmd.Flags().StringVarP(&f.format, "output", "o", formatTable, "table, json, yaml, or markdown for a pull request")
	flags.Complete(cmd, "output", formats...)
	cmd.PreRunE = func(*cobra.Command, []string) error { return f.check(formats) }
	cmd.Flags().StringSliceVarP(&f.sources.Files, "filename", "f", nil, "file, directory or https URL of manifests, or - for stdin; may be repeated")
	cmd.Flags().BoolVarP(&f.sources.Recursive, "recursive", "R", false, "also read subdirectories of the directories given with -f")
	cmd.Flags().StringVarP(&f.sources.Kustomize, "kustomize", "k", "", "directory of a kustomization to build, instead of -f; requires kustomize or kubectl")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json") // it was just added
	_ = cmd.MarkFlagDirname("kustomize")
	cmd.Flags().BoolVar(&f.spec.Prune, "prune", false, "delete the resources of the cluster that the manifests lack")
	cmd.Flags().StringVarP(&f.spec.Selector, "selector", "l", "", "limit --prune to resources with these labels, such as team=web")
	cmd.Flags().Int32Var(&f.spec.Sample, "sample", 0, "how many nodes to ask of those whose catalogs change in the same way (default: all)")
	flags.Duration(cmd, &f.limit, "timeout", 2*time.Minute, "when to stop asking; a node has ten seconds to answer")
	f.addCodes(cmd, "if a host would change or might", "if something would fail, be withheld or is unknown, or a node is held, disabled, silent or gives no answer")
	cmd.Flags().BoolVar(&f.failOnChange, "fail-on-change", false, "")
	_ = cmd.Flags().MarkHidden("fail-on-change") // it was just added
	return cmd
}

func (f *planFlags) check(formats []string) error {
	switch {
	case f.failOnChange:
		return errors.New("--fail-on-change is now --detailed-exitcodes: it exits with 2 for changes, 4 for what would break, and 6 for both")
	case f.sources.Empty():
		return errors.New("no manifests: use -f FILE, -f DIR, -f URL, -k DIR or, for stdin, -f -")
	case f.spec.Selector != "" && !f.spec.Prune:
		return errors.New("--selector limits what --prune deletes: use both")
	case f.spec.Sample < 0:
		return fmt.Errorf("--sample %d is negative: use 0 to ask all nodes", f.spec.Sample)
	case f.limit <= 0:
		return fmt.Errorf("--timeout %s is no time: use 1s or more", f.limit)
	}
	return flags.OneOf("--output", f.format, formats...)
}

func (a printer) runPlan(ctx context.Context, from source.Loader, f planFlags) error {
	all, err := from.Expand(f.sources)
	if err != nil {
		return err
	}
	if f.spec.Manifests, err = a.ownManifests(ctx, all); err != nil {
		return err
	}
	client, err := f.connect()
	if err != nil {
		return err
	}
	p, err := client.Plan(ctx, f.spec, f.limit)
	if err != nil {
		return err
	}
	if p.Nodes.Affected > 0 {
		if nodes, err := client.Nodes(ctx); err == nil {
			p.CountStates(nodes)
		} else {
			a.Warn("cannot say which nodes are held, disabled or silent: %v", err)
		}
	}
	for _, note := range p.Notes {
		a.Warn("note: %s", note)
	}
	if err := a.printPlan(p, f.format); err != nil {
		return err
	}
	return f.exit(p.Differs(), p.Fails())
}

// ownManifests reads what is sent to the cluster: no Secrets, and nothing that is not of Fettle.
func (a printer) ownManifests(ctx context.Context, all []source.Source) (own []reports.PlanManifest, err error) {
	var faults []manifest.Fault
	for _, s := range all {
		text, err := s.Read(ctx)
		if err != nil {
			return nil, err
		}
		kept, ignored, more := manifest.Own(s.Name, text)
		faults = append(faults, more...)
		for _, other := range ignored {
			a.Warn("note: %s is not part of the plan", other)
		}
		if len(kept) > 0 {
			own = append(own, reports.PlanManifest{Name: s.Name, Text: string(kept)})
		}
	}
	for _, fault := range faults {
		a.WarnIn(output.Red, "%s", fault)
	}
	if len(faults) > 0 {
		return nil, errors.New("nothing was planned: correct the manifests first")
	}
	return own, nil
}
