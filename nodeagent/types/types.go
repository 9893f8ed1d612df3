// Package types has the definitions of the external types in a node's catalogs, and saves them for API server outages.
package types

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// A Cluster has the definitions of types: a *cluster.Cluster. What it returns is verified.
type Cluster interface {
	Catalog(ctx context.Context, name string) (*v1alpha1.Catalog, error)
	ExternalType(ctx context.Context, name string) (*v1alpha1.ExternalType, error)
}

// A Store provides definitions from disk or else from the cluster. It also keeps those of former catalogs whose objects on
// the host are still to be removed. Safe for concurrent use.
type Store struct {
	disk    Documents
	cluster Cluster
	warn    func(msg string, args ...any)

	mu     sync.Mutex
	known  map[string]*definition.Definition // by digest; nil for one that this version does not understand
	newest list                              // of each kind
	usable list                              // those of which a program could be used
	latest []string                          // kinds of the latest catalog
	kept   []string                          // documents after the last Retain; nil if there may be others
	// fetching counts calls of Of, which let go of the lock while they fetch. What they have saved is not in a list yet.
	fetching int
}

// NewStore returns a store that fetches missing definitions from the cluster.
func NewStore(disk Documents, cluster Cluster, warn func(msg string, args ...any)) *Store {
	return &Store{
		disk: disk, cluster: cluster, warn: warn, known: map[string]*definition.Definition{},
		newest: list{name: "index"}, usable: list{name: "usable"},
	}
}

// Of returns the definitions of the types that entries name, without those that this version does not understand: their
// kinds are then unknown. kept are the definitions that Catalogs have, which are those of the entries even if the cluster has another version of
// a type. Without them, an ExternalType that has changed since the entries were compiled is an error, until the manager has compiled them again.
func (s *Store) Of(ctx context.Context, entries []v1alpha1.CatalogEntry, kept []v1alpha1.TypeDefinition) ([]*definition.Definition, error) {
	s.mu.Lock()
	s.fetching++
	defer func() {
		s.fetching--
		s.mu.Unlock()
	}()
	all, err := s.all(refsOf(entries), func(name, digest string) (*v1alpha1.ExternalTypeSpec, error) {
		if spec, err := s.load(digest); err == nil {
			return spec, nil
		}
		return s.download(ctx, name, digest, catalogOf(name+"@"+digest, kept))
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
	s.read(&s.newest)
	var refs []string
	for _, kind := range kinds {
		if ref := s.newest.refs[kind]; ref != "" {
			refs = append(refs, ref)
		}
	}
	return s.saved(refs)
}

// Usable returns the last type of a kind that SetUsable recorded; nil for none.
func (s *Store) Usable(kind string) *definition.Definition {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read(&s.usable)
	ref := s.usable.refs[kind]
	if ref == "" {
		return nil
	}
	for _, d := range s.saved([]string{ref}) {
		return d
	}
	return nil
}

// SetUsable records that the program of a type can be used.
func (s *Store) SetUsable(d *definition.Definition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read(&s.usable)
	if s.usable.refs[d.Spec.Kind] != d.Ref() {
		s.usable.refs[d.Spec.Kind] = d.Ref()
		s.write(s.usable)
	}
}

// Retain forgets all types, also on disk, except those of the latest catalog and of these kinds. It does nothing while others are
// fetched.
func (s *Store) Retain(kinds []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fetching > 0 {
		return
	}
	names := []string{s.newest.name, s.usable.name}
	for _, l := range []*list{&s.newest, &s.usable} {
		s.read(l)
		before := len(l.refs)
		maps.DeleteFunc(l.refs, func(kind, _ string) bool { return !slices.Contains(kinds, kind) && !slices.Contains(s.latest, kind) })
		if len(l.refs) != before {
			s.write(*l)
		}
		for _, ref := range l.refs {
			_, digest, _ := definition.ParseRef(ref) // it was made by a definition
			names = append(names, digest)
		}
	}
	slices.Sort(names)
	if s.kept != nil && slices.Equal(names, s.kept) {
		return
	}
	maps.DeleteFunc(s.known, func(digest string, _ *definition.Definition) bool { return !slices.Contains(names, digest) })
	if err := s.disk.Retain(names...); err != nil {
		s.warn("cannot remove unused types from disk", "error", err)
		return
	}
	s.kept = names
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
	if is, err := definition.Digest(spec); is != digest {
		return nil, cmp.Or(err, errors.New("it is damaged on disk"))
	}
	return &spec, nil
}
