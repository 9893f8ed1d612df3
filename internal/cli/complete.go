package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/cli/selection"
	"github.com/fettle-dev/fettle/internal/facts"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// hostKinds completes words with the kinds of the host that the flags of a command select.
type hostKinds struct {
	shared
	host  place.Flags
	types typeFlags
}

// completeKind completes the first argument with kinds.
func (k *hostKinds) completeKind(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var kinds []cobra.Completion
	for _, known := range k.known(cmd.Context()) {
		summary, _, _ := strings.Cut(known.Describe().Doc, "\n")
		kinds = append(kinds, cobra.CompletionWithDesc(strings.ToLower(known.Name()), strings.TrimLeft(summary, "# ")))
	}
	return kinds, cobra.ShellCompDirectiveNoFileComp
}

// known returns the built-in kinds and those of installed types that have no fault.
func (k *hostKinds) known(ctx context.Context) (all []resource.Kind) {
	all = k.Kinds
	_ = k.withHost(k.host, func(at place.Place, h place.Host) error { // without a host, only the built-in kinds are known
		all, _, _ = k.installedKinds(ctx, k.types, at, h)
		return nil
	})
	return all
}

// completeResource completes kinds, then names, then attributes.
func (k *hostKinds) completeResource(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return k.completeKind(cmd, args, word)
	}
	kind, err := selection.Kind(k.known(cmd.Context()), args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if len(args) == 1 {
		return k.completeName(cmd.Context(), kind)
	}
	return completeAttribute(kind, args[2:])
}

// completeName completes the instances of a kind, or paths for a kind without instances.
func (k *hostKinds) completeName(ctx context.Context, kind resource.Kind) ([]cobra.Completion, cobra.ShellCompDirective) {
	if kind.Describe().Namevar == "path" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []cobra.Completion
	err := k.withHost(k.host, func(_ place.Place, h place.Host) error {
		known, _ := facts.Gather(ctx, h)
		all, err := kind.Instances(ctx, known, resource.Call{}.Reader(h), "")
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

// completeProvider completes the providers of the kind in the arguments.
func (k *hostKinds) completeProvider(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	kind, err := selection.Kind(k.known(cmd.Context()), args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return kind.Describe().Providers, cobra.ShellCompDirectiveNoFileComp
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
func (c *runCommand) completeRef(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	at, err := c.host.Place()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	local := sourceFlags{types: c.sources.types}
	local.request.Recursive = c.sources.request.Recursive
	for _, f := range c.sources.request.Files {
		if f != "-" && !strings.Contains(f, "://") && !slices.Contains(local.request.Files, f) { // cobra parses the flags twice
			local.request.Files = append(local.request.Files, f)
		}
	}
	set := c.readManifests(cmd.Context(), local, at, nil) // completes the readable ones
	var refs []cobra.Completion
	for _, r := range set.Resources() {
		if ref := selection.RefOf(r).String(); !slices.Contains(given, ref) {
			refs = append(refs, ref)
		}
	}
	slices.Sort(refs)
	return refs, cobra.ShellCompDirectiveNoFileComp
}
