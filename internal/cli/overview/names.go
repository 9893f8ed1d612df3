package overview

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// onlyNames asks for a list without specs and statuses.
const onlyNames = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// Refs returns the resources, as Kind/name, that a word may be the begin of: those of its kind or, if it names none yet, the kinds
// with a slash.
func (c *Client) Refs(ctx context.Context, word string) ([]string, error) {
	kind, _, named := strings.Cut(word, "/")
	if !named {
		return c.kinds(ctx)
	}
	path, err := c.pathOf(ctx, kind)
	if err != nil {
		return nil, err
	}
	names, err := c.names(ctx, path)
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
	var all []string
	for _, gv := range []schema.GroupVersion{v1alpha1.GroupVersion, v1alpha1.ExternalGroupVersion} {
		var known metav1.APIResourceList
		if err := c.get(ctx, "/apis/"+gv.String(), "application/json", &known); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		for _, r := range known.APIResources {
			if !strings.Contains(r.Name, "/") && (gv == v1alpha1.ExternalGroupVersion || v1alpha1.NewResource(r.Kind) != nil) {
				all = append(all, r.Kind+"/")
			}
		}
	}
	slices.Sort(all)
	return all, nil
}
