package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/cli/selection"
	"github.com/fettle-dev/fettle/internal/facts"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/internal/text"
)

// completeKind completes the first argument with kinds.
func (a *app) completeKind(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var kinds []cobra.Completion
	for _, k := range a.knownKinds(cmd) {
		summary, _, _ := strings.Cut(k.Describe().Doc, "\n")
		kinds = append(kinds, cobra.CompletionWithDesc(strings.ToLower(k.Name()), strings.TrimLeft(summary, "# ")))
	}
	return kinds, cobra.ShellCompDirectiveNoFileComp
}

// knownKinds returns the built-in kinds and those of installed types that have no fault.
func (a *app) knownKinds(cmd *cobra.Command) (all []resource.Kind) {
	all = a.Kinds
	_ = a.withHost(func(h Host) error { // without a host, only the built-in kinds are known
		all, _, _ = a.installed(cmd.Context(), h, "")
		return nil
	})
	return all
}

// completeResource completes kinds, then names, then attributes.
func (a *app) completeResource(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeKind(cmd, args, word)
	}
	k, err := selection.Kind(a.knownKinds(cmd), args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if len(args) == 1 {
		return a.completeName(cmd.Context(), k)
	}
	return completeAttribute(k, args[2:])
}

// completeName completes the instances of a kind, or paths for a kind without instances.
func (a *app) completeName(ctx context.Context, k resource.Kind) ([]cobra.Completion, cobra.ShellCompDirective) {
	if k.Describe().Namevar == "path" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []cobra.Completion
	err := a.withHost(func(h Host) error {
		known, _ := facts.Gather(ctx, h)
		all, err := k.Instances(ctx, known, resource.Call{}.Reader(h), "")
		for _, i := range all {
			names = append(names, i.Namevar)
		}
		names = slices.DeleteFunc(names, unprintable)
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// unprintable reports whether a name can't be printed unescaped, and so can't be completed.
func unprintable(name string) bool { return text.Line(name) != name }

// completeAttribute completes the attributes that are not set yet.
func completeAttribute(k resource.Kind, given []string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	d := k.Describe()
	for _, at := range d.Attributes {
		is := func(word string) bool { return strings.HasPrefix(word, at.Name+"=") }
		if at.Name != d.Namevar && !slices.ContainsFunc(given, is) {
			out = append(out, cobra.CompletionWithDesc(at.Name+"=", at.Doc))
		}
	}
	return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// completeRef completes the resources of local manifests.
func (a *app) completeRef(from *source.Request) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		local := source.Request{Recursive: from.Recursive}
		for _, f := range from.Files {
			if f != "-" && !strings.Contains(f, "://") && !slices.Contains(local.Files, f) { // cobra parses the flags twice
				local.Files = append(local.Files, f)
			}
		}
		set := a.readManifests(cmd.Context(), local, nil) // completes the readable ones
		var refs []cobra.Completion
		for _, r := range set.Resources() {
			if ref := selection.RefOf(r).String(); !slices.Contains(given, ref) {
				refs = append(refs, ref)
			}
		}
		slices.Sort(refs)
		return refs, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeProvider completes the providers of the kind in the arguments.
func (a *app) completeProvider(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	k, err := selection.Kind(a.knownKinds(cmd), args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return k.Describe().Providers, cobra.ShellCompDirectiveNoFileComp
}

// completeFact completes facts, level by level.
func (a *app) completeFact(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	err := a.withHost(func(h Host) error {
		known, _ := facts.Gather(cmd.Context(), h)
		names = factNames(known, word)
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// factNames are the facts on the level of the word so far.
func factNames(known resource.Facts, word string) []cobra.Completion {
	above, level := "", any(map[string]any(known))
	if dot := strings.LastIndexByte(word, '.'); dot >= 0 {
		above = word[:dot+1]
		level, _ = known.Get(word[:dot])
	}
	m, _ := level.(map[string]any)
	var names []cobra.Completion
	for _, name := range slices.Sorted(maps.Keys(m)) {
		names = append(names, above+name)
	}
	return slices.DeleteFunc(names, unprintable)
}

// completeSum completes the sums and paths in the bucket.
func (a *app) completeSum(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var sums []cobra.Completion
	dir, _ := cmd.Flags().GetString("state-dir") // the default if it is not set
	err := a.withHostAndBucket(&bucketFlags{stateDir: dir}, func(_ Host, b *bucket.Bucket) error {
		all, err := b.List()
		for _, e := range all {
			if strings.HasPrefix(word, "/") {
				sums = append(sums, slices.DeleteFunc(e.Paths, unprintable)...)
			} else {
				sums = append(sums, cobra.CompletionWithDesc(e.Sum, text.Line(strings.Join(e.Paths, " "))))
			}
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return sums, cobra.ShellCompDirectiveNoFileComp
}
