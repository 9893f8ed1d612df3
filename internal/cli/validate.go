package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/manifest"
)

func (a *app) validate() *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use:   "validate -f FILE|DIR|-",
		Short: "Check manifests as an API server and the compiler would, without either",
		Long: "validate checks that manifests decode, that they keep the rules of the CRDs, that the types accept\n" +
			"their attributes, and that references lead somewhere and in no circle. It looks at no host.",
		Example: "  fettle validate -f manifests/",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runValidate(cmd.Context(), files) },
	}
	addFiles(cmd, &files)
	return cmd
}

func (a *app) runValidate(ctx context.Context, files []string) error {
	set, err := manifest.Read(files, a.In)
	faults := split(err)
	schema, err := manifest.NewSchema()
	if err != nil {
		return err
	}
	flawed := map[v1alpha1.ResourceRef]bool{}
	for _, d := range set.Documents {
		errs := schema.Validate(ctx, d)
		faults = append(faults, errs...)
		flawed[refOf(d.Resource)] = len(errs) > 0
	}
	faults = append(faults, a.compileFaults(set, flawed)...)
	for _, f := range faults {
		a.complain("%s", a.paint(red, f.Error()))
	}
	for _, i := range set.Ignored {
		a.complain("note: %s is not of fettle.dev and was left out", i)
	}
	if len(faults) > 0 {
		a.say("%d resources, %d faults", len(set.Documents), len(faults))
		return Exit(1)
	}
	a.say("%d resources are valid", len(set.Documents))
	return nil
}

// compileFaults compiles for a machine of which nothing is known. What needs facts
// is left to the host; what the schema refused already is not told twice.
func (a *app) compileFaults(set *manifest.Set, flawed map[v1alpha1.ResourceRef]bool) []error {
	source := map[v1alpha1.ResourceRef]string{}
	for _, d := range set.Documents {
		source[refOf(d.Resource)] = d.Source
	}
	_, problems := catalog.Local(catalog.Input{
		Nodes: []catalog.Node{{}}, Resources: set.Resources(), Kinds: a.Kinds, ConfigMap: set.ConfigMap,
	})
	var faults []error
	for _, p := range problems {
		if flawed[p.Ref] || p.Reason == v1alpha1.ReasonWaitingForFacts || p.Reason == v1alpha1.ReasonDependsOnProblem {
			continue
		}
		faults = append(faults, fmt.Errorf("%s: %s: %s", source[p.Ref], p.Ref, p.Message))
	}
	return faults
}

func refOf(r v1alpha1.Resource) v1alpha1.ResourceRef {
	return v1alpha1.ResourceRef(r.KindName() + "/" + r.GetName())
}

// split takes joined errors apart.
func split(err error) []error {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		if err == nil {
			return nil
		}
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, split(e)...)
	}
	return out
}
