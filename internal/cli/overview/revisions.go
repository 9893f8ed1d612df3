package overview

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/revision"
)

const (
	revisionsPath     = "/apis/fettle.dev/v1alpha1/catalogrevisions"
	externalTypesPath = "/apis/fettle.dev/v1alpha1/externaltypes"
)

// RevisionNames returns the names of the CatalogRevisions of the cluster, without those that are parts of others.
func (c *Client) RevisionNames(ctx context.Context) (names []string, err error) {
	type head struct {
		metav1.ObjectMeta `json:"metadata"`
		Parts             []v1alpha1.CatalogRef `json:"parts"`
	}
	all, err := list[head](ctx, c, revisionsPath, "application/json")
	if err != nil {
		return nil, err
	}
	parts := map[string]bool{}
	for _, r := range all {
		for _, part := range r.Parts {
			parts[part.Name] = true
		}
	}
	for _, r := range all {
		if !parts[r.Name] {
			names = append(names, r.Name)
		}
	}
	return names, nil
}

// A revisionReader reads revisions. Those that share a Catalog share its entries.
type revisionReader struct {
	*Client
	catalogs map[string][]v1alpha1.CatalogEntry
	contents map[string]revision.Content
}

func (c *Client) revisions() *revisionReader {
	return &revisionReader{c, map[string][]v1alpha1.CatalogEntry{}, map[string]revision.Content{}}
}

// content returns what a revision has of each resource.
func (r *revisionReader) content(ctx context.Context, name string) (revision.Content, error) {
	if content, known := r.contents[name]; known {
		return content, nil
	}
	targets, err := r.targets(ctx, name)
	if err == nil {
		err = r.readCatalogs(ctx, targets)
	}
	if err != nil {
		return nil, err
	}
	r.contents[name] = revision.Of(targets, func(catalog string) []v1alpha1.CatalogEntry { return r.catalogs[catalog] })
	return r.contents[name], nil
}

// targets returns the targetings of a revision and its parts.
func (r *revisionReader) targets(ctx context.Context, name string) (all []v1alpha1.RevisionTarget, err error) {
	names := []string{name}
	for i := 0; i < len(names); i++ {
		var of v1alpha1.CatalogRevision
		if err := r.get(ctx, revisionsPath+"/"+names[i], "application/json", &of); err != nil {
			return nil, fmt.Errorf("cannot get the CatalogRevision %s: %w", names[i], err)
		}
		all = append(all, of.Targets...)
		for _, part := range of.Parts {
			if !slices.Contains(names, part.Name) {
				names = append(names, part.Name)
			}
		}
	}
	return all, nil
}

// readCatalogs reads the Catalogs of targetings, some at the same time.
func (r *revisionReader) readCatalogs(ctx context.Context, targets []v1alpha1.RevisionTarget) error {
	var names []string
	for _, t := range targets {
		for _, name := range revision.CatalogsOf(t) {
			if _, known := r.catalogs[name]; !known && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	catalogs, errs := make([]v1alpha1.Catalog, len(names)), make([]error, len(names))
	inParallel(len(names), func(i int) {
		errs[i] = r.get(ctx, "/apis/"+v1alpha1.GroupVersion.String()+"/catalogs/"+names[i], "application/json", &catalogs[i])
	})
	for i, name := range names {
		if errs[i] != nil {
			return fmt.Errorf("cannot get the Catalog %s: %w", name, errs[i])
		}
		r.catalogs[name] = catalogs[i].Entries
	}
	return nil
}

// CompareRevisions returns what differs in the resources of two revisions.
func (c *Client) CompareRevisions(ctx context.Context, was, is string) ([]revision.Change, error) {
	read := c.revisions()
	old, err := read.content(ctx, was)
	if err != nil {
		return nil, err
	}
	now, err := read.content(ctx, is)
	if err != nil {
		return nil, err
	}
	secrets, err := c.secrets(ctx)
	if err != nil {
		return nil, err
	}
	return revision.Compare(
		revision.Version{Name: v1alpha1.ShortRevision(was), Content: old}, revision.Version{Name: v1alpha1.ShortRevision(is), Content: now}, secrets), nil
}

// secrets returns the sensitive attributes of external kinds.
func (c *Client) secrets(ctx context.Context) (revision.Secrets, error) {
	types, err := list[v1alpha1.ExternalType](ctx, c, externalTypesPath, "application/json")
	if err != nil {
		return nil, fmt.Errorf("cannot tell which attributes of external types are sensitive: %w", err)
	}
	secrets := revision.Secrets{}
	for _, t := range types {
		for _, a := range t.Spec.Attributes {
			if a.Sensitive {
				secrets[t.Spec.Kind] = append(secrets[t.Spec.Kind], a.Name)
			}
		}
	}
	return secrets, nil
}
