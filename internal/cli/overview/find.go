package overview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/selection"
)

// Resource returns a resource by a name such as File/motd, with a word for the kind that kubectl accepts: File, file, files or a short
// name. The error for a name without a resource suggests similar ones.
func (c *Client) Resource(ctx context.Context, ref string) (r Resource, err error) {
	word, name, err := selection.Split(ref)
	if err != nil {
		return r, err
	}
	if faults := content.IsPathSegmentName(name); len(faults) > 0 {
		return r, fmt.Errorf("%q is not a name of a resource: it %s", name, faults[0])
	}
	kind, err := c.kind(ctx, word)
	if err != nil {
		return r, err
	}
	if err := c.get(ctx, kind.path()+"/"+name, "application/json", &r); err != nil {
		return r, c.suggest(ctx, kind.path(), name, fmt.Errorf("cannot get %s %s: %w", kind.Name, name, err))
	}
	return r, nil
}

// kind returns a kind by a word for it.
func (c *Client) kind(ctx context.Context, word string) (Kind, error) {
	kinds, err := c.Kinds(ctx)
	if err != nil {
		return Kind{}, err
	}
	var names []string
	for _, k := range kinds {
		if slices.Contains(k.words, strings.ToLower(word)) {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return Kind{}, fmt.Errorf("the cluster has no kind %q of Fettle%s", word, cmp.Or(selection.DidYouMean(word, names), ": see kubectl api-resources --categories=fettle"))
}

// suggest adds similar names to the error for one that was not found there.
func (c *Client) suggest(ctx context.Context, at, name string, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	names, listErr := c.names(ctx, at)
	if listErr != nil || slices.Contains(names, name) { // or something else was not found
		return err
	}
	return fmt.Errorf("%w%s", err, selection.DidYouMean(name, names))
}

// suggestNode is suggest for the name of a node.
func (c *Client) suggestNode(ctx context.Context, node string, err error) error {
	return c.suggest(ctx, catalogsPath(), node, err)
}

// CheckNodes returns an error for names that none of the nodes has.
func CheckNodes(all []NodeCatalog, wanted []string) error {
	names := make([]string, len(all))
	for i, n := range all {
		names[i] = n.Name
	}
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return fmt.Errorf("there is no NodeCatalog %s%s", name, selection.DidYouMean(name, names))
		}
	}
	return nil
}

// HasDrifted reports whether nodes remember drift of a resource.
func HasDrifted(all []NodeCatalog, ref string) bool {
	return slices.ContainsFunc(all, func(n NodeCatalog) bool {
		return slices.ContainsFunc(n.Status.Drift, func(d v1alpha1.DriftRecord) bool { return sameResource(ref, string(d.Ref)) })
	})
}
