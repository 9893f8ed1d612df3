package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
)

// revised are the revisions of a compilation, while there are RolloutPolicies. The zero value has none.
type revised struct {
	newest   compiler.Stored
	base     *compiler.Revision                          // which has the entries of resources at fault; nil for none
	stored   map[string]*compiler.Revision               // by name: the newest, and those that nodes have or may get
	assigned map[string]map[string]*compiler.NodeResult  // what the older ones give to nodes that may need it, by revision and node; none for one that is gone
	gone     map[string]bool                             // older ones that do not exist
	kept     map[v1alpha1.ResourceRef]*compiler.Fault    // resources at fault, of which nodes keep an earlier entry
	changed  map[[2]string]map[v1alpha1.ResourceRef]bool // what differs between two revisions
}

// result returns what a revision gives to a node; nil if the revision is not stored any more.
func (c *compilation) result(revision, node string) *compiler.NodeResult {
	if revision == c.newest.Name {
		return c.Nodes[node]
	}
	return c.assigned[revision][node]
}

// differing returns the resources that differ between two revisions; none if one of them is not known.
func (r *revised) differing(a, b string) map[v1alpha1.ResourceRef]bool {
	key := [2]string{a, b}
	if r.changed[key] == nil && r.stored[a] != nil && r.stored[b] != nil {
		r.changed[key] = map[v1alpha1.ResourceRef]bool{}
		for _, ref := range compiler.Changed(r.stored[a], r.stored[b]) {
			r.changed[key][ref] = true
		}
	}
	return r.changed[key]
}

// covers reports whether this compilation has what policies and nodes need now. That changes without an edit, when a policy completes a
// revision that another one waited for, for example.
func (c *compilation) covers(sc *scope, specs map[string]spec) bool {
	if c == nil {
		return false
	}
	for revision := range c.gone {
		if sc.hasRevision(revision) {
			return false
		}
	}
	for revision, nodes := range neededRevisions(sc, specs, c.newest.Name) {
		assigned, compiled := c.assigned[revision]
		if !compiled || c.stored[revision] != nil && slices.ContainsFunc(nodes, func(name string) bool { return assigned[name] == nil }) {
			return false
		}
	}
	return true
}

// neededRevisions returns the nodes for which revisions other than the newest have to be assigned, by revision: what their policies roll
// out or have rolled out, and what the nodes have.
func neededRevisions(sc *scope, specs map[string]spec, newest string) map[string][]string {
	needed, ofPolicy := map[string][]string{}, map[string][]string{}
	for name, is := range sc.selections {
		if is.Policy == "" && len(is.Conflict) == 0 {
			continue
		}
		revisions, known := ofPolicy[is.Policy]
		if !known {
			revisions = sc.revisionsOf(is.Policy, newest)
			ofPolicy[is.Policy] = revisions
		}
		if has := specs[name].Rollout; has != nil && has.Revision != newest && !slices.Contains(revisions, has.Revision) {
			needed[has.Revision] = append(needed[has.Revision], name)
		}
		for _, revision := range revisions {
			needed[revision] = append(needed[revision], name)
		}
	}
	return needed
}

// revisionsOf returns the revisions that the nodes of a policy may get, without the newest.
func (sc *scope) revisionsOf(policy, newest string) []string {
	all := []string{sc.policySet.Base(newest)}
	for _, p := range sc.policies {
		if p.Name == policy {
			all = append(all, p.Status.Stable, p.Status.Target, sc.policySet.Aim(policy, newest, sc.hasRevision).Revision)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == "" || name == newest })
}

func (sc *scope) hasRevision(name string) bool { return sc.revisions[name] != nil }

// A revisionStore writes revisions to the cluster and reads them back. It remembers those that the last compilation used.
type revisionStore struct {
	client client.Client
	live   client.Reader // Catalogs in the cache have no attributes

	known map[string]*compiler.Revision // by name
}

// restore returns revisions by name. One that is not stored, or not whole, is left out, and the error of it is logged: nodes keep what they
// have of it.
func (s *revisionStore) restore(ctx context.Context, c *compiler.Compiler, in compiler.Input, sc *scope, names []string) (map[string]*compiler.Revision, error) {
	all := make(map[string]*compiler.Revision, len(names))
	for _, name := range names {
		switch {
		case s.known[name] != nil:
			all[name] = s.known[name]
			continue
		case !sc.hasRevision(name): // a policy whose own revision is gone says so
			continue
		}
		r, err := s.restoreOne(ctx, c, in, sc, name)
		if err != nil {
			return nil, err
		}
		if r != nil {
			all[name] = r
		}
	}
	return all, nil
}

// restoreOne returns nil if the revision, or one of its Catalogs, does not exist.
func (s *revisionStore) restoreOne(ctx context.Context, c *compiler.Compiler, in compiler.Input, sc *scope, name string) (*compiler.Revision, error) {
	from := compiler.Source{Revision: func(name string) *v1alpha1.CatalogRevision { return sc.revisions[name] }}
	catalogs, err := s.catalogs(ctx, sc, name)
	if err != nil {
		return nil, err
	}
	from.Catalog = func(name string) *v1alpha1.Catalog { return catalogs[name] }
	from.HasCatalog = func(name string) bool { return sc.catalogs[name] != nil }
	r, err := c.Restore(name, from, in)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("a CatalogRevision cannot be restored, so nodes that have it keep what they have", "revision", name, "reason", err.Error())
		return nil, nil
	}
	return r, nil
}

// catalogs reads the Catalogs with the entries of a revision, as far as they exist.
func (s *revisionStore) catalogs(ctx context.Context, sc *scope, revision string) (map[string]*v1alpha1.Catalog, error) {
	names := slices.Sorted(maps.Keys(sc.entriesOf(revision)))
	read := make([]*v1alpha1.Catalog, len(names))
	errs := each(len(names), func(i int) error {
		read[i] = &v1alpha1.Catalog{}
		return client.IgnoreNotFound(s.live.Get(ctx, types.NamespacedName{Name: names[i]}, read[i]))
	})
	all := make(map[string]*v1alpha1.Catalog, len(names))
	for i, c := range read {
		if c.Name != "" {
			all[names[i]] = c
		}
	}
	return all, wrap(errors.Join(errs...), "cannot read the Catalogs of CatalogRevision "+revision)
}

// catalogsOf returns the names of the Catalogs that a revision refers to, with its parts.
func (s *snapshot) catalogsOf(revision string) map[string]bool {
	names := s.entriesOf(revision)
	for _, part := range s.partsOf(revision) {
		for _, t := range s.revisions[part].Types {
			names[t.Catalog] = true
		}
	}
	return names
}

// entriesOf returns the names of the Catalogs with the entries of a revision and its parts, without the definitions of types.
func (s *snapshot) entriesOf(revision string) map[string]bool {
	names := map[string]bool{}
	for _, part := range s.partsOf(revision) {
		for _, t := range s.revisions[part].Targets {
			for _, ref := range slices.Concat(t.Catalogs, t.Sources) {
				names[ref.Name] = true
			}
		}
	}
	return names
}

// partsOf returns the names of a revision and its parts, as far as they exist.
func (s *snapshot) partsOf(revision string) (names []string) {
	if o := s.revisions[revision]; o != nil {
		names = append(names, revision)
		for _, part := range o.Parts {
			if s.revisions[part.Name] != nil {
				names = append(names, part.Name)
			}
		}
	}
	return names
}

// cut creates the CatalogRevision of a revision: its Catalogs first, then its parts, so that what exists is whole.
func (s *revisionStore) cut(ctx context.Context, sc *scope, r compiler.Stored) error {
	if sc.hasRevision(r.Name) {
		return nil
	}
	missing := slices.DeleteFunc(slices.Sorted(maps.Keys(r.Catalogs)), func(name string) bool { return sc.catalogs[name] != nil })
	errs := each(len(missing), func(i int) error { return createHashed(ctx, s.client, r.Catalogs[missing[i]]) })
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cannot create the Catalogs of CatalogRevision %s: %w", r.Name, err)
	}
	for _, o := range slices.Backward(r.Revisions) {
		if err := createHashed(ctx, s.client, o); err != nil {
			return fmt.Errorf("cannot create CatalogRevision %s: %w", o.Name, err)
		}
	}
	return nil
}
