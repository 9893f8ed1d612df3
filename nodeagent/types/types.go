// Package types has the definitions of the external types in a node's catalogs, and saves them for API server outages.
package types

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
)

// Documents are named texts on disk: a *state.Documents.
type Documents interface {
	Get(name string) ([]byte, error)
	Put(name string, body []byte) error
	Retain(names ...string) error
}

// A Store provides definitions from disk or else from the cluster. It is not safe for concurrent use.
type Store struct {
	disk  Documents
	fetch func(ctx context.Context, name string) (*v1alpha1.ExternalType, error)
	warn  func(msg string, args ...any)
	known map[string]*definition.Definition // by digest; nil for one that this version does not understand
}

// NewStore returns a store that fetches missing ExternalTypes from the cluster.
func NewStore(disk Documents, fetch func(ctx context.Context, name string) (*v1alpha1.ExternalType, error), warn func(msg string, args ...any)) *Store {
	return &Store{disk: disk, fetch: fetch, warn: warn, known: map[string]*definition.Definition{}}
}

// Of returns the definitions of the types that entries name, without those that this version does not understand: their
// kinds are then unknown. An ExternalType that has changed since the entries were compiled is an error, until the manager
// has compiled them again.
func (s *Store) Of(ctx context.Context, entries []v1alpha1.CatalogEntry) ([]*definition.Definition, error) {
	return s.all(entries, func(name, digest string) (*v1alpha1.ExternalTypeSpec, error) {
		if spec, err := s.load(name, digest); err == nil {
			return spec, nil
		}
		return s.download(ctx, name, digest)
	})
}

// OnDisk is Of without the cluster. The kinds of missing types are unknown.
func (s *Store) OnDisk(entries []v1alpha1.CatalogEntry) []*definition.Definition {
	all, err := s.all(entries, func(name, digest string) (*v1alpha1.ExternalTypeSpec, error) {
		spec, err := s.load(name, digest)
		if err != nil {
			spec = &v1alpha1.ExternalTypeSpec{Unknown: "it is not on disk"}
		}
		return spec, nil
	})
	if err != nil {
		s.warn("cannot use the types of the last good catalog", "error", err)
	}
	clear(s.known) // what is missing may be in the cluster
	return all
}

func (s *Store) all(entries []v1alpha1.CatalogEntry, read func(name, digest string) (*v1alpha1.ExternalTypeSpec, error)) ([]*definition.Definition, error) {
	var refs []string
	for _, e := range entries {
		if e.Type != "" && !slices.Contains(refs, e.Type) {
			refs = append(refs, e.Type)
		}
	}
	var all []*definition.Definition
	for _, ref := range refs {
		d, err := s.get(ref, read)
		if err != nil {
			return nil, fmt.Errorf("cannot get the type %s: %w", ref, err)
		}
		if d != nil {
			all = append(all, d)
		}
	}
	return all, nil
}

// Retain forgets all other definitions, also on disk.
func (s *Store) Retain(all []*definition.Definition) {
	var digests []string
	known := make(map[string]*definition.Definition, len(all))
	for _, d := range all {
		digests, known[d.Digest] = append(digests, d.Digest), d
	}
	s.known = known
	if err := s.disk.Retain(digests...); err != nil {
		s.warn("cannot remove unused types from disk", "error", err)
	}
}

func (s *Store) get(ref string, read func(name, digest string) (*v1alpha1.ExternalTypeSpec, error)) (*definition.Definition, error) {
	name, digest, err := definition.ParseRef(ref)
	if err != nil {
		return nil, err
	}
	if d, ok := s.known[digest]; ok {
		return d, nil
	}
	spec, err := read(name, digest)
	if err != nil {
		return nil, err
	}
	t := &v1alpha1.ExternalType{Spec: *spec}
	t.Name = name
	d, err := definition.New(t)
	if err != nil {
		s.warn("this version does not understand a type: upgrade the agent", "type", name, "error", err)
		d = nil
	}
	s.known[digest] = d
	return d, nil
}

// load returns a spec from disk.
func (s *Store) load(_, digest string) (*v1alpha1.ExternalTypeSpec, error) {
	body, err := s.disk.Get(digest)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.warn("cannot read a type from disk", "error", err)
		}
		return nil, err
	}
	var spec v1alpha1.ExternalTypeSpec
	if err := json.Unmarshal(body, &spec); err != nil {
		return nil, fmt.Errorf("cannot decode it from disk: %w", err)
	}
	return &spec, verify(spec, digest)
}

// download fetches an ExternalType from the cluster and saves its spec on disk.
func (s *Store) download(ctx context.Context, name, digest string) (*v1alpha1.ExternalTypeSpec, error) {
	t, err := s.fetch(ctx, name)
	if err != nil {
		return nil, err
	}
	if t.Spec.Unknown != "" { // its digest is that of what this version does not know, too
		return &t.Spec, nil
	}
	if err := verify(t.Spec, digest); err != nil {
		return nil, err
	}
	body, err := json.Marshal(t.Spec)
	if err == nil {
		err = s.disk.Put(digest, body)
	}
	if err != nil {
		s.warn("cannot save a type on disk", "type", name, "error", err)
	}
	return &t.Spec, nil
}

func verify(spec v1alpha1.ExternalTypeSpec, digest string) error {
	is, err := definition.Digest(spec)
	if err == nil && is != digest {
		err = errors.New("the ExternalType has changed: the manager compiles the catalog again")
	}
	return err
}
