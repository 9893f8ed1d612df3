// Package types has the definitions of the external types in a node's catalogs, and saves them for API server outages.
package types

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
)

// Documents are named texts on disk: a *state.Documents.
type Documents interface {
	Get(name string) ([]byte, error)
	Put(name string, body []byte) error
	Retain(names ...string) error
}

// A Store provides definitions from disk or else from the cluster. It also keeps those of former catalogs whose things on
// the host are still to be removed. Safe for concurrent use.
type Store struct {
	disk  Documents
	fetch func(ctx context.Context, name string) (*v1alpha1.ExternalType, error)
	warn  func(msg string, args ...any)

	mu     sync.Mutex
	known  map[string]*definition.Definition // by digest; nil for one that this version does not understand
	newest map[string]string                 // the newest [definition.Definition.Ref] of each kind; nil until it was read from disk
	latest []string                          // kinds of the latest catalog
}

// NewStore returns a store that fetches missing ExternalTypes from the cluster.
func NewStore(disk Documents, fetch func(ctx context.Context, name string) (*v1alpha1.ExternalType, error), warn func(msg string, args ...any)) *Store {
	return &Store{disk: disk, fetch: fetch, warn: warn, known: map[string]*definition.Definition{}}
}

// Of returns the definitions of the types that entries name, without those that this version does not understand: their
// kinds are then unknown. An ExternalType that has changed since the entries were compiled is an error, until the manager
// has compiled them again.
func (s *Store) Of(ctx context.Context, entries []v1alpha1.CatalogEntry) ([]*definition.Definition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.all(refsOf(entries), func(name, digest string) (*v1alpha1.ExternalTypeSpec, error) {
		if spec, err := s.load(digest); err == nil {
			return spec, nil
		}
		return s.download(ctx, name, digest)
	})
	if err == nil {
		s.remember(all)
	}
	return all, err
}

// OnDisk is Of without the cluster. The kinds of missing types are unknown.
func (s *Store) OnDisk(entries []v1alpha1.CatalogEntry) []*definition.Definition {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.saved(refsOf(entries))
	s.remember(all)
	return all
}

// Former returns the definitions of the newest types with these kinds that any catalog had.
func (s *Store) Former(kinds []string) []*definition.Definition {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readIndex()
	var refs []string
	for _, kind := range kinds {
		if ref := s.newest[kind]; ref != "" {
			refs = append(refs, ref)
		}
	}
	return s.saved(refs)
}

// Retain forgets all types, also on disk, except those of the latest catalog and of these kinds.
func (s *Store) Retain(kinds []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readIndex()
	before := len(s.newest)
	maps.DeleteFunc(s.newest, func(kind, _ string) bool { return !slices.Contains(kinds, kind) && !slices.Contains(s.latest, kind) })
	names := []string{index}
	for _, ref := range s.newest {
		_, digest, _ := definition.ParseRef(ref) // it was made by a definition
		names = append(names, digest)
	}
	maps.DeleteFunc(s.known, func(digest string, _ *definition.Definition) bool { return !slices.Contains(names, digest) })
	if len(s.newest) != before {
		s.writeIndex()
	}
	if err := s.disk.Retain(names...); err != nil {
		s.warn("cannot remove unused types from disk", "error", err)
	}
}

func refsOf(entries []v1alpha1.CatalogEntry) []string {
	var refs []string
	for _, e := range entries {
		if e.Type != "" && !slices.Contains(refs, e.Type) {
			refs = append(refs, e.Type)
		}
	}
	return refs
}

// index names the document with the newest types by kind.
const index = "index"

func (s *Store) readIndex() {
	if s.newest != nil {
		return
	}
	s.newest = map[string]string{}
	body, err := s.disk.Get(index)
	if err == nil {
		err = json.Unmarshal(body, &s.newest)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.warn("cannot read the list of types from disk", "error", err)
	}
}

// remember records the types of the latest catalog.
func (s *Store) remember(all []*definition.Definition) {
	s.readIndex()
	before := maps.Clone(s.newest)
	s.latest = nil
	for _, d := range all {
		s.newest[d.Spec.Kind] = d.Ref()
		s.latest = append(s.latest, d.Spec.Kind)
	}
	if !maps.Equal(before, s.newest) {
		s.writeIndex()
	}
}

func (s *Store) writeIndex() {
	body, err := json.Marshal(s.newest)
	if err == nil {
		err = s.disk.Put(index, body)
	}
	if err != nil {
		s.warn("cannot save the list of types on disk", "error", err)
	}
}

// saved returns definitions that are on disk or in memory.
func (s *Store) saved(refs []string) []*definition.Definition {
	all, err := s.all(refs, func(name, digest string) (*v1alpha1.ExternalTypeSpec, error) {
		spec, err := s.load(digest)
		if err != nil {
			s.warn("a type is missing on disk", "type", name, "error", err)
		}
		return spec, nil
	})
	if err != nil {
		s.warn("cannot use types on disk", "error", err)
	}
	return all
}

// all returns the definitions that read has a spec of.
func (s *Store) all(refs []string, read func(name, digest string) (*v1alpha1.ExternalTypeSpec, error)) ([]*definition.Definition, error) {
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

func (s *Store) get(ref string, read func(name, digest string) (*v1alpha1.ExternalTypeSpec, error)) (*definition.Definition, error) {
	name, digest, err := definition.ParseRef(ref)
	if err != nil {
		return nil, err
	}
	if d, ok := s.known[digest]; ok {
		return d, nil
	}
	spec, err := read(name, digest)
	if err != nil || spec == nil {
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
func (s *Store) load(digest string) (*v1alpha1.ExternalTypeSpec, error) {
	body, err := s.disk.Get(digest)
	if err != nil {
		return nil, err
	}
	var spec v1alpha1.ExternalTypeSpec
	if err := json.Unmarshal(body, &spec); err != nil {
		return nil, fmt.Errorf("cannot decode it from disk: %w", err)
	}
	if err := verify(spec, digest); err != nil {
		return nil, err
	}
	return &spec, nil
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
