package fleet

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/text"
)

// completionTime limits the wait for a cluster that does not answer.
const completionTime = 3 * time.Second

// completeRef completes resources of the cluster: kinds, then names.
func (s shared) completeRef(cmd *cobra.Command, given []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names := s.complete(cmd, func(ctx context.Context, c *overview.Client) ([]string, error) { return c.Refs(ctx, word) })
	names = slices.DeleteFunc(names, func(ref string) bool { return slices.Contains(given, ref) || !strings.HasPrefix(ref, word) })
	if strings.Contains(word, "/") {
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace // a name follows
}

// completeOneRef is completeRef for a command with one argument.
func (s shared) completeOneRef(cmd *cobra.Command, given []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.completeRef(cmd, given, word)
}

// completeOneNode completes one argument with a node.
func (s shared) completeOneNode(cmd *cobra.Command, given []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.completeNode(cmd, given, word)
}

// completeNodeOrRef completes one argument with a node or a resource.
func (s shared) completeNodeOrRef(cmd *cobra.Command, given []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	refs, how := s.completeOneRef(cmd, given, word)
	if len(given) > 0 || strings.Contains(word, "/") {
		return refs, how
	}
	nodes, _ := s.completeNode(cmd, given, word)
	return append(nodes, refs...), how
}

// completeNode completes the names of nodes.
func (s shared) completeNode(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return s.complete(cmd, func(ctx context.Context, c *overview.Client) ([]string, error) { return c.NodeNames(ctx) }), cobra.ShellCompDirectiveNoFileComp
}

// complete returns names of the cluster, none if it does not answer.
func (s shared) complete(cmd *cobra.Command, read func(context.Context, *overview.Client) ([]string, error)) []cobra.Completion {
	client, err := s.connect()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	names, err := read(ctx, client)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(names, func(name string) bool { return text.Line(name) != name })
}
