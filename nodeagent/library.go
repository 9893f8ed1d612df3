package nodeagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
)

// A target is what a host should be: a NodeCatalog's spec and what it comes to.
type target struct {
	uid        types.UID // of the NodeCatalog, whose generations count from 1 again if it is made anew
	generation int64
	spec       v1alpha1.NodeCatalogSpec
	entries    []v1alpha1.CatalogEntry
	digest     string
}

// is reports whether it is what an object says now.
func (t *target) is(nc *v1alpha1.NodeCatalog) bool {
	return t != nil && t.uid == nc.UID && t.generation == nc.Generation
}

// documents are named texts on disk: a *state.Documents.
type documents interface {
	Get(name string) ([]byte, error)
	Put(name string, body []byte) error
	Retain(names ...string) error
}

// A library has the catalogs that the host needs: on disk, else from the cluster.
type library struct {
	disk  documents
	fetch func(ctx context.Context, name string) (*v1alpha1.Catalog, error)
	warn  func(msg string, args ...any)
}

// lastGood names the document that says what the host was last to be.
const lastGood = "nodecatalog"

// node is that document.
type node struct {
	UID        types.UID                `json:"uid"`
	Generation int64                    `json:"generation"`
	Spec       v1alpha1.NodeCatalogSpec `json:"spec"`
}

// assemble puts together what a NodeCatalog says. Once it can, that is the last good
// one, and on disk as far as the disk takes it.
func (l *library) assemble(ctx context.Context, nc *v1alpha1.NodeCatalog) (*target, error) {
	t := &target{uid: nc.UID, generation: nc.Generation, spec: nc.Spec}
	var err error
	t.entries, t.digest, err = catalog.Assemble(nc.Spec, func(name string) (*v1alpha1.Catalog, error) {
		if c, err := l.load(name); err == nil {
			return c, nil
		}
		return l.get(ctx, name)
	})
	if err != nil {
		return nil, err
	}
	l.keep(node{UID: nc.UID, Generation: nc.Generation, Spec: nc.Spec})
	return t, nil
}

// recall is the last good target; nil if there is none that is whole.
func (l *library) recall() *target {
	text, err := l.disk.Get(lastGood)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var n node
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	t := &target{uid: n.UID, generation: n.Generation, spec: n.Spec}
	if err == nil {
		t.entries, t.digest, err = catalog.Assemble(n.Spec, l.load)
	}
	if err != nil {
		l.warn("cannot use the last good catalog on disk", "error", err)
		return nil
	}
	return t
}

// keep makes a node's spec the last good one, and drops catalogs that it does not name.
func (l *library) keep(n node) {
	names := []string{lastGood}
	for _, ref := range n.Spec.Catalogs {
		names = append(names, ref.Name)
	}
	text, err := json.Marshal(n)
	if err == nil {
		err = l.disk.Put(lastGood, text)
	}
	if err == nil {
		err = l.disk.Retain(names...)
	}
	if err != nil {
		l.warn("cannot keep the catalog on disk, without an API server the host has none", "error", err)
	}
}

// load takes a catalog from disk, whole or not at all.
func (l *library) load(name string) (*v1alpha1.Catalog, error) {
	text, err := l.disk.Get(name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			l.warn("cannot read a catalog from disk", "error", err)
		}
		return nil, err
	}
	var c v1alpha1.Catalog
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("cannot decode catalog %s on disk: %w", name, err)
	}
	return &c, catalog.Verify(name, &c)
}

// get takes a catalog from the cluster and keeps it, if it is what its name says.
func (l *library) get(ctx context.Context, name string) (*v1alpha1.Catalog, error) {
	c, err := l.fetch(ctx, name)
	if err == nil {
		err = catalog.Verify(name, c)
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(v1alpha1.Catalog{Count: c.Count, Entries: c.Entries})
	if err == nil {
		err = l.disk.Put(name, text)
	}
	if err != nil {
		l.warn("cannot keep a catalog on disk", "catalog", name, "error", err)
	}
	return c, nil
}
