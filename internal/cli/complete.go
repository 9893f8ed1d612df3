package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/internal/text"
)

// complete has a flag take one of some words.
func complete(cmd *cobra.Command, flag string, words ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // the flag was just added
}

// completeKind tells shells the kinds, for the first word.
func (a *app) completeKind(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var kinds []cobra.Completion
	for _, k := range a.Kinds {
		summary, _, _ := strings.Cut(k.Describe().Doc, "\n")
		kinds = append(kinds, cobra.CompletionWithDesc(strings.ToLower(k.Name()), strings.TrimLeft(summary, "# ")))
	}
	return kinds, cobra.ShellCompDirectiveNoFileComp
}

// completeResource tells them kinds, then names, then attributes.
func (a *app) completeResource(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeKind(cmd, args, word)
	}
	k, err := a.kind(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if len(args) == 1 {
		return a.completeName(cmd.Context(), k)
	}
	return completeAttribute(k, args[2:])
}

// completeName tells what there is of a kind; of what can't be listed, paths.
func (a *app) completeName(ctx context.Context, k resource.Kind) ([]cobra.Completion, cobra.ShellCompDirective) {
	if k.Describe().Namevar == "path" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []cobra.Completion
	err := a.withHost(func(h Host) error {
		facts, _ := gatherFacts(ctx, h) // those that can't be had decide nothing here
		all, err := k.Instances(ctx, facts, resource.Call{}.Reader(h), "")
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

// unprintable reports whether a name can't be shown on a terminal as it is, and so can't be
// completed.
func unprintable(name string) bool { return text.Line(name) != name }

// completeAttribute tells the attributes that are not given yet.
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

// completeRef tells the resources of local manifests.
func (a *app) completeRef(from *source.Request) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		local := source.Request{Recursive: from.Recursive}
		for _, f := range from.Files {
			if f != "-" && !strings.Contains(f, "://") && !slices.Contains(local.Files, f) { // cobra parses the flags twice
				local.Files = append(local.Files, f)
			}
		}
		set := a.readManifests(cmd.Context(), local, nil) // what can be read is told
		var refs []cobra.Completion
		for _, r := range set.Resources() {
			if ref := refOf(r).String(); !slices.Contains(given, ref) {
				refs = append(refs, ref)
			}
		}
		slices.Sort(refs)
		return refs, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeProvider tells the providers of the kind that was given.
func (a *app) completeProvider(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	k, err := a.kind(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return k.Describe().Providers, cobra.ShellCompDirectiveNoFileComp
}

// completeFact tells the facts, level by level.
func (a *app) completeFact(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	err := a.withHost(func(h Host) error {
		facts, _ := gatherFacts(cmd.Context(), h) // what there is, is told
		names = factNames(facts, word)
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// factNames are the facts on the level of what is typed so far.
func factNames(facts resource.Facts, word string) []cobra.Completion {
	above, level := "", any(map[string]any(facts))
	if dot := strings.LastIndexByte(word, '.'); dot >= 0 {
		above = word[:dot+1]
		level, _ = facts.Get(word[:dot])
	}
	m, _ := level.(map[string]any)
	var names []cobra.Completion
	for _, name := range slices.Sorted(maps.Keys(m)) {
		names = append(names, above+name)
	}
	return slices.DeleteFunc(names, unprintable)
}

// completeSum tells the contents in the bucket.
func (a *app) completeSum(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var sums []cobra.Completion
	dir, _ := cmd.Flags().GetString("state-dir") // the default where it is not said
	err := a.onBucket(&bucketFlags{stateDir: dir}, func(_ Host, b *bucket.Bucket) error {
		all, err := b.List()
		for _, e := range all {
			sums = append(sums, cobra.CompletionWithDesc(e.Sum, text.Line(strings.Join(e.Paths, " "))))
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return sums, cobra.ShellCompDirectiveNoFileComp
}
