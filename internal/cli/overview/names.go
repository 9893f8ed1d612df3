package overview

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// onlyNames asks for a list without specs and statuses.
const onlyNames = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// Refs returns the resources, as Kind/name, that a word may be completed to: the resources of its kind or, if it names none yet, the kinds
// with a slash.
func (c *Client) Refs(ctx context.Context, word string) ([]string, error) {
	kind, _, named := strings.Cut(word, "/")
	if !named {
		return c.kinds(ctx)
	}
	of, err := c.kind(ctx, kind)
	if err != nil {
		return nil, err
	}
	names, err := c.names(ctx, of.path())
	for i := range names {
		names[i] = kind + "/" + names[i]
	}
	return names, err
}

// NodeNames returns the names of all nodes with a NodeCatalog.
func (c *Client) NodeNames(ctx context.Context) ([]string, error) {
	return c.names(ctx, catalogsPath())
}

func (c *Client) names(ctx context.Context, path string) ([]string, error) {
	type named struct {
		metav1.ObjectMeta `json:"metadata"`
	}
	all, err := list[named](ctx, c, path, onlyNames)
	names := make([]string, len(all))
	for i, o := range all {
		names[i] = o.Name
	}
	return names, err
}

// kinds returns the kinds of resources, each with a slash.
func (c *Client) kinds(ctx context.Context) ([]string, error) {
	kinds, err := c.Kinds(ctx)
	all := make([]string, len(kinds))
	for i, k := range kinds {
		all[i] = k.Name + "/"
	}
	slices.Sort(all)
	return all, err
}
