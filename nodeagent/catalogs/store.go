// Package catalogs assembles the desired state of a node and saves it for API server outages.
package catalogs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/external/definition"
)

// A Target is the desired state of a host: the spec of a NodeCatalog and its entries. It is immutable.
type Target struct {
	UID        types.UID // of the NodeCatalog; a new object counts its generations from 1 again
	Generation int64
	Spec       v1alpha1.NodeCatalogSpec
	Entries    []v1alpha1.CatalogEntry
	Types      []*definition.Definition // of the entries
	Digest     string
}

// Matches reports whether it is the target of the object's current spec. A nil target matches no object.
func (t *Target) Matches(nc *v1alpha1.NodeCatalog) bool {
	return t != nil && t.UID == nc.UID && t.Generation == nc.Generation
}

// Follow returns the target of an object whose spec differs from that of t only in its generation and its marks, with which the same
// is to be applied. It returns nil for another one.
func (t *Target) Follow(nc *v1alpha1.NodeCatalog) *Target {
	if t == nil || t.UID != nc.UID || t.Generation == nc.Generation || !equality.Semantic.DeepEqual(withoutMarks(t.Spec), withoutMarks(nc.Spec)) {
		return nil
	}
	next := *t
	next.Generation, next.Spec = nc.Generation, nc.Spec
	return &next
}

// withoutMarks returns the part of a spec that says what is to be applied.
func withoutMarks(spec v1alpha1.NodeCatalogSpec) v1alpha1.NodeCatalogSpec {
	spec.Held, spec.Disabled, spec.FleetDisabled, spec.Cleanup, spec.Rollout = nil, nil, nil, nil, nil
	return spec
}

// Documents are named texts on disk: a *state.Documents.
type Documents interface {
	Get(name string) ([]byte, error)
	Put(name string, body []byte) error
	Retain(names ...string) error
}

// A Store provides the catalogs of a node from disk or else from the cluster. It is not safe for concurrent use.
type Store struct {
	disk  Documents
	fetch func(ctx context.Context, name string) (*v1alpha1.Catalog, error)
	types Types
	warn  func(msg string, args ...any)

	// verified are the catalogs on disk that this process has decoded and verified. Their names are hashes of
	// their content, so once is enough.
	verified map[string]*v1alpha1.Catalog
}

// Types provides the definitions of external types: a *types.Store.
type Types interface {
	Of(ctx context.Context, entries []v1alpha1.CatalogEntry, kept []v1alpha1.TypeDefinition) ([]*definition.Definition, error)
	OnDisk(entries []v1alpha1.CatalogEntry) []*definition.Definition
}

// NewStore returns a store that fetches missing catalogs from the cluster.
func NewStore(disk Documents, fetch func(ctx context.Context, name string) (*v1alpha1.Catalog, error), types Types, warn func(msg string, args ...any)) *Store {
	return &Store{disk: disk, fetch: fetch, types: types, warn: warn, verified: map[string]*v1alpha1.Catalog{}}
}

// lastGood names the document with the last spec that was assembled.
const lastGood = "nodecatalog"

// node is the content of the document.
type node struct {
	UID        types.UID                `json:"uid"`
	Generation int64                    `json:"generation"`
	Spec       v1alpha1.NodeCatalogSpec `json:"spec"`
}

// Assemble returns the target of a NodeCatalog and saves it as the last good one. A disk that can't be written is a
// warning. The error is a *catalog.InvalidCatalogError if a catalog does not match its name.
func (s *Store) Assemble(ctx context.Context, nc *v1alpha1.NodeCatalog) (*Target, error) {
	n := node{UID: nc.UID, Generation: nc.Generation, Spec: nc.Spec}
	t, err := assemble(n, func(name string) (*v1alpha1.Catalog, error) {
		if c, err := s.load(name); err == nil {
			return c, nil
		}
		return s.get(ctx, name)
	})
	if err == nil {
		t.Types, err = s.types.Of(ctx, t.Entries, keptTypes(nc.Spec))
	}
	if err != nil {
		return nil, err
	}
	s.save(n)
	return t, nil
}

// keptTypes returns the definitions that the revision of a spec keeps.
func keptTypes(spec v1alpha1.NodeCatalogSpec) []v1alpha1.TypeDefinition {
	if spec.Rollout == nil {
		return nil
	}
	return spec.Rollout.Types
}

// LastGood returns the last good target, nil if there is none or it is damaged.
func (s *Store) LastGood() *Target {
	body, err := s.disk.Get(lastGood)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var n node
	if err == nil {
		err = json.Unmarshal(body, &n)
	}
	var t *Target
	if err == nil {
		t, err = assemble(n, s.load)
	}
	if err == nil {
		t.Types = s.types.OnDisk(t.Entries)
	}
	if err != nil {
		s.warn("cannot use the last good catalog on disk", "error", err)
		return nil
	}
	return t
}

func assemble(n node, get func(name string) (*v1alpha1.Catalog, error)) (*Target, error) {
	entries, digest, err := catalog.Assemble(n.Spec, get)
	if err != nil {
		return nil, err
	}
	return &Target{UID: n.UID, Generation: n.Generation, Spec: n.Spec, Entries: entries, Digest: digest}, nil
}

// SaveMarks saves a target that [Target.Follow] returned as the last good one: an agent that starts without the cluster must know that runs
// are disabled.
func (s *Store) SaveMarks(t *Target) {
	s.save(node{UID: t.UID, Generation: t.Generation, Spec: t.Spec})
}

// save makes a spec the last good one, and drops the catalogs that it does not name.
func (s *Store) save(n node) {
	names := []string{lastGood}
	verified := make(map[string]*v1alpha1.Catalog, len(n.Spec.Catalogs))
	for _, ref := range n.Spec.Catalogs {
		names = append(names, ref.Name)
		if c := s.verified[ref.Name]; c != nil {
			verified[ref.Name] = c
		}
	}
	s.verified = verified
	body, err := json.Marshal(n)
	if err == nil {
		err = s.disk.Put(lastGood, body)
	}
	if err == nil {
		err = s.disk.Retain(names...)
	}
	if err != nil {
		s.warn("cannot save the catalog on disk: without an API server, a restarted agent has none", "error", err)
	}
}

// load returns a verified catalog from disk.
func (s *Store) load(name string) (*v1alpha1.Catalog, error) {
	if c := s.verified[name]; c != nil {
		return c, nil
	}
	body, err := s.disk.Get(name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.warn("cannot read a catalog from disk", "error", err)
		}
		return nil, err
	}
	var c v1alpha1.Catalog
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, fmt.Errorf("cannot decode catalog %s on disk: %w", name, err)
	}
	if err := catalog.Verify(name, &c); err != nil {
		return nil, err
	}
	s.verified[name] = &c
	return &c, nil
}

// get fetches a catalog from the cluster, verifies it and saves it on disk.
func (s *Store) get(ctx context.Context, name string) (*v1alpha1.Catalog, error) {
	fetched, err := s.fetch(ctx, name)
	if err == nil {
		err = catalog.Verify(name, fetched)
	}
	if err != nil {
		return nil, err
	}
	c := &v1alpha1.Catalog{Count: fetched.Count, Entries: fetched.Entries}
	body, err := json.Marshal(c)
	if err == nil {
		err = s.disk.Put(name, body)
	}
	if err != nil {
		s.warn("cannot save a catalog on disk", "catalog", name, "error", err)
		return c, nil // not in s.verified, so that the next target saves it
	}
	s.verified[name] = c
	return c, nil
}
