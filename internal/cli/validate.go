package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/manifests"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/internal/text"
)

func (a *app) validate() *cobra.Command {
	var sources source.Request
	cmd := &cobra.Command{
		Use:   "validate " + useSources,
		Short: "Check manifests like an API server and the compiler, without either",
		Long: "validate checks that manifests can be decoded, that they satisfy the rules of the CRDs and the types, and\n" +
			"that references exist and form no cycle. Of this host it reads only the installed external types. apply and\n" +
			"plan reject the same resources, with the same messages.",
		Example: "  fettle validate -f manifests/",
		Args:    onlySources(&sources),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runValidate(cmd.Context(), sources) },
	}
	a.addSources(cmd, &sources)
	return cmd
}

func (a *app) runValidate(ctx context.Context, sources source.Request) error {
	set := a.readManifests(ctx, sources, nil)
	faults := slices.Concat(set.Faults, a.compileFaults(set))
	a.warnFaults(faults)
	a.warnIgnored(set)
	resources := len(set.Documents) + len(manifests.Refusals(set.Faults))
	if len(faults) > 0 {
		a.out.Print("%s, %s", text.Count(resources, "resource"), text.Count(len(faults), "fault"))
		return Exit(1)
	}
	a.out.Print("%s %s valid", text.Count(resources, "resource"), text.Plural(resources, "is", "are"))
	return nil
}

// warnFaults prints faults, a line each.
func (a *app) warnFaults(faults []manifest.Fault) {
	for _, f := range faults {
		a.out.WarnIn(output.Red, "%s", f)
	}
}

// compileFaults compiles for a machine without facts. Problems that depend on facts are left to the host, and
// faults of the manifests are not repeated.
func (a *app) compileFaults(set *manifest.Set) []manifest.Fault {
	where := map[v1alpha1.ResourceRef]string{}
	for _, d := range set.Documents {
		where[v1alpha1.RefOf(d.Resource)] = d.Where()
	}
	incomplete := slices.ContainsFunc(set.Faults, func(f manifest.Fault) bool { return f.Ref == "" })
	in := manifests.Input(set, a.kinds(set.Types, nil))
	in.Nodes = []compiler.Node{{}}
	_, problems := compiler.Local(in)
	var faults []manifest.Fault
	for _, p := range problems {
		if where[p.Ref] == "" || leftToTheCluster(p.Reason) || incomplete && mayBeUnread(p.Reason) {
			continue
		}
		faults = append(faults, manifest.Fault{Where: where[p.Ref], Ref: p.Ref, Message: p.Message})
	}
	return faults
}

// mayBeUnread reports whether the cause may be a document that could not be read.
func mayBeUnread(reason string) bool {
	return reason == v1alpha1.ReasonMissingReference || reason == v1alpha1.ReasonMissingSource
}

// leftToTheCluster reports whether a problem is outside the manifests themselves, which seldom include Secrets and never
// nodes.
func leftToTheCluster(reason string) bool {
	return v1alpha1.WaitsForNode(reason) || reason == v1alpha1.ReasonDependsOnProblem || reason == v1alpha1.ReasonUnexposedSecret
}

// warnIgnored names the documents that are not Fettle's.
func (a *app) warnIgnored(set *manifest.Set) {
	for _, i := range set.Ignored {
		a.out.Warn("note: ignored %s, which is not of fettle.dev", i)
	}
}

func (a *app) graph() *cobra.Command {
	var sources source.Request
	cmd := &cobra.Command{
		Use:   "graph " + useSources,
		Short: "Print the graph of resources and their order, for Graphviz",
		Long: "graph prints the resources of manifests and their relations in the DOT language of Graphviz. Relations that\n" +
			"refresh are bold, automatic ones dashed, and cycles red.",
		Example: "  fettle graph -f manifests/ | dot -Tsvg > graph.svg",
		Args:    onlySources(&sources),
		RunE: func(cmd *cobra.Command, _ []string) error {
			set := a.readManifests(cmd.Context(), sources, nil)
			a.warnIgnored(set)
			a.warnFaults(set.Faults)
			a.out.Print("%s", output.Block(plan.Dot(compiler.Sketch(manifests.Input(set, a.kinds(set.Types, nil))))))
			if len(set.Faults) > 0 {
				return Exit(1)
			}
			return nil
		},
	}
	a.addSources(cmd, &sources)
	return cmd
}
