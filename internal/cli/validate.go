package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/internal/text"
)

func (a *app) validate() *cobra.Command {
	var sources source.Request
	cmd := &cobra.Command{
		Use:   "validate " + useSources,
		Short: "Check manifests as an API server and the compiler would, without either",
		Long: "validate checks that manifests decode, that they keep the rules of the CRDs, that the types accept\n" +
			"their attributes, and that references lead somewhere and in no circle. It looks at no host.\n" +
			"apply and plan refuse the same resources, in the same words.",
		Example: "  fettle validate -f manifests/",
		Args:    onlySources(&sources),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runValidate(cmd.Context(), sources) },
	}
	addSources(cmd, &sources)
	return cmd
}

func (a *app) runValidate(ctx context.Context, sources source.Request) error {
	set := a.readManifests(ctx, sources, nil)
	faults := slices.Concat(set.Faults, a.compileFaults(set))
	a.complainOf(faults)
	a.noteIgnored(set)
	resources := len(set.Documents) + len(refusals(set.Faults))
	if len(faults) > 0 {
		a.say("%s, %s", text.Count(resources, "resource"), text.Count(len(faults), "fault"))
		return Exit(1)
	}
	a.say("%s %s valid", text.Count(resources, "resource"), text.Plural(resources, "is", "are"))
	return nil
}

// complainOf tells of faults, a line each.
func (a *app) complainOf(faults []manifest.Fault) {
	for _, f := range faults {
		a.complainIn(red, "%s", f)
	}
}

// compileFaults compiles for a machine of which nothing is known. What needs facts
// is left to the host; what was refused already is not told twice.
func (a *app) compileFaults(set *manifest.Set) []manifest.Fault {
	where := map[v1alpha1.ResourceRef]string{}
	for _, d := range set.Documents {
		where[v1alpha1.RefOf(d.Resource)] = d.Where()
	}
	incomplete := slices.ContainsFunc(set.Faults, func(f manifest.Fault) bool { return f.Ref == "" })
	_, problems := compiler.Local(compiler.Input{
		Nodes: []compiler.Node{{}}, Resources: set.Resources(), Refused: refusals(set.Faults), Kinds: a.Kinds,
		ConfigMap: set.ConfigMaps.Value, Secret: secretsOf(set.Secrets),
	})
	var faults []manifest.Fault
	for _, p := range problems {
		if where[p.Ref] == "" || leftToTheCluster(p.Reason) || incomplete && mayBeUnread(p.Reason) {
			continue
		}
		faults = append(faults, manifest.Fault{Where: where[p.Ref], Ref: p.Ref, Message: p.Message})
	}
	return faults
}

// mayBeUnread are problems that may come from what could not be read.
func mayBeUnread(reason string) bool {
	return reason == v1alpha1.ReasonMissingReference || reason == v1alpha1.ReasonMissingSource
}

// leftToTheCluster are problems that say nothing of the manifests: Secrets are seldom
// among them, and nodes never.
func leftToTheCluster(reason string) bool {
	return v1alpha1.WaitsForNode(reason) || reason == v1alpha1.ReasonDependsOnProblem || reason == v1alpha1.ReasonUnexposedSecret
}

// secretsOf are the Secrets among manifests, as the compiler asks for them.
func secretsOf(all manifest.Secrets) func(v1alpha1.KeyRef) compiler.SecretValue {
	return func(ref v1alpha1.KeyRef) compiler.SecretValue {
		value, exposed, found := all.Value(ref)
		return compiler.SecretValue{Exposed: exposed, Found: found, Value: value}
	}
}

// noteIgnored names the documents that are left alone.
func (a *app) noteIgnored(set *manifest.Set) {
	for _, i := range set.Ignored {
		a.complain("note: %s is not of fettle.dev and was left out", i)
	}
}
