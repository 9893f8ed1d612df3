package types

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/external/definition"
)

// catalogOf returns the name of the Catalog that keeps the definition of a type, "" if none does.
func catalogOf(ref string, kept []v1alpha1.TypeDefinition) string {
	for _, t := range kept {
		if t.Type == ref {
			return t.Catalog
		}
	}
	return ""
}

// download fetches a spec from the cluster and saves it on disk. catalog is the name of the Catalog that keeps it, "" if none does.
func (s *Store) download(ctx context.Context, name, digest, catalog string) (*v1alpha1.ExternalTypeSpec, error) {
	s.mu.Unlock() // runs need the store meanwhile
	spec, err := fetch(ctx, s.cluster, name, digest, catalog)
	s.mu.Lock()
	if err != nil || spec.Unknown != "" {
		return spec, err
	}
	s.kept = nil
	body, err := json.Marshal(spec)
	if err == nil {
		err = s.disk.Put(digest, body)
	}
	if err != nil {
		s.warn("cannot save a type on disk", "type", name, "error", err)
	}
	return spec, nil
}

// fetch returns a spec from the Catalog that keeps it, or else from the ExternalType, which may have another version by now.
func fetch(ctx context.Context, from Cluster, name, digest, catalog string) (*v1alpha1.ExternalTypeSpec, error) {
	if catalog == "" {
		return fetchPresent(ctx, from, name, digest)
	}
	kept, err := fetchKept(ctx, from, name, digest, catalog)
	if err == nil {
		return kept, nil
	}
	if present, other := fetchPresent(ctx, from, name, digest); other == nil {
		return present, nil
	}
	return nil, err
}

func fetchKept(ctx context.Context, from Cluster, name, digest, of string) (*v1alpha1.ExternalTypeSpec, error) {
	c, err := from.Catalog(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("cannot get Catalog %s, which has its definition: %w", of, err)
	}
	spec, err := catalog.TypeOf(of, c, name)
	if err != nil {
		return nil, err
	}
	if is, err := digestOf(spec, digest); is != digest {
		return nil, &catalog.InvalidCatalogError{Name: of, Err: cmp.Or(err, fmt.Errorf("it has the definition of %s@%s", name, is))}
	}
	return spec, nil
}

func fetchPresent(ctx context.Context, from Cluster, name, digest string) (*v1alpha1.ExternalTypeSpec, error) {
	t, err := from.ExternalType(ctx, name)
	if err != nil {
		return nil, err
	}
	if is, err := digestOf(&t.Spec, digest); is != digest {
		return nil, cmp.Or(err, errors.New("the ExternalType has changed: the manager compiles the catalog again"))
	}
	return &t.Spec, nil
}

// digestOf returns the digest of a spec. One of which this version does not know a part has the digest that is wanted: nobody uses it.
func digestOf(spec *v1alpha1.ExternalTypeSpec, wanted string) (string, error) {
	if spec.Unknown != "" {
		return wanted, nil
	}
	return definition.Digest(*spec)
}
