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
	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/internal/text"
)

func (a *app) validate() *cobra.Command {
	var sources source.Request
	var format string
	cmd := &cobra.Command{
		Use:   "validate " + useSources,
		Short: "Check manifests like an API server and the compiler, without either",
		Long: "validate checks that manifests can be decoded, that they satisfy the rules of the CRDs and the types, and\n" +
			"that references exist and form no cycle. Of this host it reads only the installed external types. apply and\n" +
			"plan reject the same resources, with the same messages.",
		Example: "  fettle validate -f manifests/\n" +
			"  fettle validate -k overlays/web -o json",
		Args: onlySources(&sources),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runValidate(cmd.Context(), sources, format) },
	}
	a.addSources(cmd, &sources)
	flags.Output(cmd, &format, "text, json or yaml", "text", "json", "yaml")
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

func (a *app) runValidate(ctx context.Context, sources source.Request, format string) error {
	set := a.readManifests(ctx, sources, nil)
	faults := slices.Concat(set.Faults, a.compileFaults(set))
	if err := a.printValidation(validationOf(len(set.Documents)+set.Rejected, faults, set.Ignored), set, faults, format); err != nil || len(faults) == 0 {
		return err
	}
	return Exit(1)
}

// printValidation prints a result as text, or encoded for other programs.
func (a *app) printValidation(v validation, set *manifest.Set, faults []manifest.Fault, format string) error {
	if format != "text" {
		return a.out.Encode(v, format)
	}
	a.warnFaults(faults)
	a.warnIgnored(set)
	if len(faults) > 0 {
		a.out.Print("%s, %s", text.Count(v.Resources, "resource"), text.Count(len(faults), "fault"))
	} else {
		a.out.Print("%s %s valid", text.Count(v.Resources, "resource"), text.Plural(v.Resources, "is", "are"))
	}
	return nil
}

// warnFaults prints faults, a line each.
func (a *app) warnFaults(faults []manifest.Fault) {
	for _, f := range faults {
		a.out.WarnIn(output.Red, "%s", f)
	}
}

// compileFaults compiles for any machine. Problems that depend on its facts and labels are left to the host, and
// faults of the manifests are not repeated.
func (a *app) compileFaults(set *manifest.Set) []manifest.Fault {
	documents := map[v1alpha1.ResourceRef]manifest.Document{}
	for _, d := range set.Documents {
		documents[v1alpha1.RefOf(d.Resource)] = d
	}
	incomplete := slices.ContainsFunc(set.Faults, func(f manifest.Fault) bool { return f.Ref == "" })
	in := manifests.Input(set, a.kinds(set.Types, nil))
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
