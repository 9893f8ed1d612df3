package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/flags"
	"github.com/fettle-dev/fettle/internal/cli/manifests"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/text"
)

// A validateCommand is validate.
type validateCommand struct {
	shared
	sources sourceFlags
	output  flags.Output
}

func newValidate(s shared) *cobra.Command {
	c := validateCommand{shared: s}
	cmd := &cobra.Command{
		Use:   "validate " + useSources,
		Short: "Check manifests like an API server and the compiler, without either",
		Long: "validate checks that manifests can be decoded, that they satisfy the rules of the CRDs and the types, and\n" +
			"that references exist and form no cycle; so do the names in after of RolloutPolicies. Of this host it reads only\n" +
			"the installed external types. apply and plan reject the same resources, with the same messages.",
		Example: "  fettle validate -f manifests/\n" +
			"  fettle validate -k overlays/web -o json",
		Args: c.sources.only,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.sources.add(cmd)
	c.output.AddText(cmd)
	return cmd
}

// A validation is the result of validate as JSON.
type validation struct {
	Resources int      `json:"resources"`
	Faults    []fault  `json:"faults"`
	Ignored   []string `json:"ignored"` // documents that are not of fettle.dev
}

// A fault is a [manifest.Fault] as JSON.
type fault struct {
	Where   string `json:"where,omitempty"` // the file and line
	Ref     string `json:"ref,omitempty"`   // as the document has it, even if the kind or name is invalid
	Message string `json:"message"`
}

func validationOf(resources int, faults []manifest.Fault, ignored []string) validation {
	v := validation{Resources: resources, Faults: []fault{}, Ignored: append([]string{}, ignored...)}
	for _, f := range faults {
		v.Faults = append(v.Faults, fault{f.Where, f.About(), f.Message})
	}
	return v
}

func (c *validateCommand) run(ctx context.Context) error {
	set, err := c.readHere(ctx, c.sources)
	if err != nil {
		return err
	}
	faults := slices.Concat(set.Faults, set.PolicyFaults(), c.compileFaults(set))
	v := validationOf(len(set.Documents)+len(set.Policies)+set.Rejected, faults, set.Ignored)
	if err := c.output.Print(c.out, v, func() { c.print(v, set, faults) }); err != nil || len(faults) == 0 {
		return err
	}
	return output.Exit(1)
}

// print prints a result as text.
func (c *validateCommand) print(v validation, set *manifest.Set, faults []manifest.Fault) {
	c.warnFaults(faults)
	c.warnIgnored(set)
	if len(faults) > 0 {
		c.out.Print("%s, %s", text.Count(v.Resources, "resource"), text.Count(len(faults), "fault"))
	} else {
		c.out.Print("%s %s valid", text.Count(v.Resources, "resource"), text.Plural(v.Resources, "is", "are"))
	}
}

// compileFaults compiles for any machine. Problems that depend on its facts and labels are left to the host, and
// faults of the manifests are not repeated.
func (c *validateCommand) compileFaults(set *manifest.Set) []manifest.Fault {
	documents := map[v1alpha1.ResourceRef]manifest.Document{}
	for _, d := range set.Documents {
		documents[v1alpha1.RefOf(d.Resource)] = d
	}
	incomplete := slices.ContainsFunc(set.Faults, func(f manifest.Fault) bool { return f.Ref == "" })
	in := manifests.Input(set, c.kinds(set.Types, nil))
	in.Nodes = []compiler.Node{{Any: true}}
	_, problems := compiler.Local(in)
	problems = slices.DeleteFunc(problems, func(p compiler.Problem) bool {
		_, read := documents[p.Ref]
		return !read || leftToTheCluster(p.Reason) || incomplete && mayBeUnread(p.Reason)
	})
	return placed(problems, documents)
}

// placed returns problems with the lines of the references that cause them, or of the resources, by resource and line.
func placed(problems []compiler.Problem, documents map[v1alpha1.ResourceRef]manifest.Document) []manifest.Fault {
	var places manifest.Locator
	lines := make(map[compiler.Problem]int, len(problems))
	for _, p := range problems {
		lines[p] = places.Line(documents[p.Ref], p.Edge.Attribute, p.Edge.Ref)
	}
	slices.SortStableFunc(problems, func(a, b compiler.Problem) int {
		return cmp.Or(strings.Compare(string(a.Ref), string(b.Ref)), lines[a]-lines[b])
	})
	var faults []manifest.Fault
	for _, p := range problems {
		faults = append(faults, manifest.Fault{Where: documents[p.Ref].WhereIs(lines[p]), Ref: p.Ref, Message: p.Message})
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
