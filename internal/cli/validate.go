package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
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
			"their attributes, and that references lead somewhere and in no circle. It looks at no host.",
		Example: "  fettle validate -f manifests/",
		Args:    onlySources(&sources),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runValidate(cmd.Context(), sources) },
	}
	addSources(cmd, &sources)
	return cmd
}

func (a *app) runValidate(ctx context.Context, sources source.Request) error {
	schema, err := manifest.NewSchema()
	if err != nil {
		return err
	}
	set, err := a.readManifests(ctx, sources)
	faults := readFaults(ctx, schema, err)
	unread := len(faults) > 0
	flawed := map[v1alpha1.ResourceRef]bool{}
	for _, d := range set.Documents {
		errs := schema.Validate(ctx, d)
		faults = append(faults, errs...)
		flawed[v1alpha1.RefOf(d.Resource)] = len(errs) > 0
	}
	if !unread { // else what others refer to may be what could not be read
		faults = append(faults, a.compileFaults(set, flawed)...)
	}
	for _, f := range faults {
		a.complain("%s", a.paintErr(red, f.Error()))
	}
	a.noteIgnored(set)
	if len(faults) > 0 {
		a.say("%s, %s", text.Count(len(set.Documents), "resource"), text.Count(len(faults), "fault"))
		return Exit(1)
	}
	a.say("%s %s valid", text.Count(len(set.Documents), "resource"), text.Plural(len(set.Documents), "is", "are"))
	return nil
}

// compileFaults compiles for a machine of which nothing is known. What needs facts
// is left to the host; what the schema refused already is not told twice.
func (a *app) compileFaults(set *manifest.Set, flawed map[v1alpha1.ResourceRef]bool) []error {
	source := map[v1alpha1.ResourceRef]string{}
	for _, d := range set.Documents {
		source[v1alpha1.RefOf(d.Resource)] = d.Source
	}
	_, problems := catalog.Local(catalog.Input{
		Nodes: []catalog.Node{{}}, Resources: set.Resources(), Kinds: a.Kinds, ConfigMap: set.ConfigMaps.Value, Secret: secretsOf(set.Secrets),
	})
	var faults []error
	for _, p := range problems {
		if flawed[p.Ref] || leftToTheCluster(p.Reason) {
			continue
		}
		faults = append(faults, fmt.Errorf("%s: %s: %s", source[p.Ref], p.Ref, p.Message))
	}
	return faults
}

// leftToTheCluster are problems that say nothing of the manifests: Secrets are seldom
// among them, and nodes never.
func leftToTheCluster(reason string) bool {
	return v1alpha1.WaitsForNode(reason) || reason == v1alpha1.ReasonDependsOnProblem || reason == v1alpha1.ReasonUnexposedSecret
}

// secretsOf are the Secrets among manifests, as the compiler asks for them.
func secretsOf(all manifest.Secrets) func(v1alpha1.KeyRef) catalog.SecretValue {
	return func(ref v1alpha1.KeyRef) catalog.SecretValue {
		value, exposed, found := all.Value(ref)
		return catalog.SecretValue{Exposed: exposed, Found: found, Value: value}
	}
}

// readFaults are what is wrong with documents that could not be read, in the words of
// the schema where it has any.
func readFaults(ctx context.Context, schema *manifest.Schema, err error) []error {
	var faults []error
	for _, e := range split(err) {
		errs := []error{e}
		if malformed, ok := errors.AsType[*manifest.Malformed](e); ok {
			if said := schema.Validate(ctx, malformed.Document); len(said) > 0 {
				errs = said
			}
		}
		faults = append(faults, errs...)
	}
	return faults
}

// split takes joined errors apart, but none that has words around it.
func split(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, split(e)...)
	}
	return out
}

// noteIgnored names the documents that are left alone.
func (a *app) noteIgnored(set *manifest.Set) {
	for _, i := range set.Ignored {
		a.complain("note: %s is not of fettle.dev and was left out", i)
	}
}
