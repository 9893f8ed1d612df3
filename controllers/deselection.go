package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
)

// A revision is what of a resource tells whether nodes lose it because it changed.
type revision struct {
	uid        types.UID
	generation int64
	targeting  string // its nodeSelector and when
}

type revisions map[v1alpha1.ResourceRef]revision

// revisionsOf are those of resources; was are the last ones, or nil.
func revisionsOf(resources []v1alpha1.Resource, was revisions) revisions {
	all := make(revisions, len(resources))
	for _, o := range resources {
		ref := v1alpha1.RefOf(o)
		is := revision{o.GetUID(), o.GetGeneration(), was[ref].targeting}
		if is != was[ref] {
			is.targeting = targetingOf(o)
		}
		all[ref] = is
	}
	return all
}

// observed are the revisions that statuses speak of: what a manager that starts knows of the
// time before.
func observed(resources []v1alpha1.Resource) revisions {
	return revisionsOf(slices.DeleteFunc(slices.Clone(resources), func(o v1alpha1.Resource) bool {
		return o.GetStatus().ObservedGeneration != o.GetGeneration()
	}), nil)
}

func targetingOf(o v1alpha1.Resource) string {
	t := o.GetTargeting()
	raw, err := json.Marshal(struct{ NodeSelector, When any }{t.NodeSelector, t.When})
	if err != nil { // words and lists of words: they encode
		return err.Error()
	}
	return string(raw)
}

// aimsAlike reports whether a resource is there in both, and speaks of the same nodes.
func (r revisions) aimsAlike(ref v1alpha1.ResourceRef, before revisions) bool {
	now, exists := r[ref]
	was, existed := before[ref]
	return exists && existed && now.uid == was.uid && now.targeting == was.targeting
}

// A deselection holds back what too many nodes would lose at once.
type deselection struct {
	hold
	first revisions // as far as is known of the time before the start
	// refs are what catalogs have in them, by name: those that nodes should have, and those
	// that some still do.
	refs map[string][]v1alpha1.ResourceRef
}

// holdBack leaves out of changes those of nodes that are held, and of nodes of which it can't
// tell what they have.
func (r *Fleet) holdBack(ctx context.Context, changes []nodeChange, existing nodeCatalogs) ([]nodeChange, error) {
	known := r.deselection.refs
	r.deselection.refs = make(map[string][]v1alpha1.ResourceRef, len(r.compiled.result.Catalogs))
	for name, c := range r.compiled.result.Catalogs {
		r.deselection.learn(name, known[name], c)
	}
	var losses []loss
	var failed []error
	unclear := map[string]bool{}
	dropped := drops{}
	for _, c := range changes {
		if c.has == nil || c.remove {
			continue
		}
		if err := r.learnBefore(ctx, c, known); err != nil {
			failed = append(failed, err)
			unclear[c.node] = true
			continue
		}
		if refs := r.lostByItself(c, dropped); len(refs) > 0 {
			losses = append(losses, loss{c.node, c.at, refs})
		}
	}
	before := r.deselection.nodes()
	r.deselection.judge(losses, r.view(existing))
	r.logHeld(ctx, before)
	return slices.DeleteFunc(changes, func(c nodeChange) bool {
		held := r.deselection.holds(c.node)
		if held {
			r.rollout.start(c.node, c.has.Status.AppliedDigest, c.before, r.deselection.differing(c))
		}
		return held || unclear[c.node]
	}), errors.Join(failed...)
}

func (r *Fleet) logHeld(ctx context.Context, before []string) {
	if now := r.deselection.nodes(); !slices.Equal(before, now) {
		ctrl.LoggerFrom(ctx).Info("holds back what too many nodes would lose at once", "nodes", len(now), "before", len(before))
	}
}

// view is what a hold goes by.
func (r *Fleet) view(existing nodeCatalogs) fleetView {
	v := fleetView{
		now: r.Clock.Now(), percent: DefaultMaxDeselection,
		confirmed: r.compiled.confirmed,
		resources: make(map[v1alpha1.ResourceRef]types.UID, len(r.compiled.resources)),
		has: func(node string, ref v1alpha1.ResourceRef) bool {
			want := r.compiled.result.Nodes[node]
			return want == nil || keeps(want, ref) // a node that is gone lost nothing
		},
	}
	if r.MaxDeselection != nil {
		v.percent = *r.MaxDeselection
	}
	for ref, is := range r.compiled.resources {
		v.resources[ref] = is.uid
	}
	for name := range r.compiled.result.Nodes {
		if existing[name] != nil {
			v.nodes++
		}
	}
	return v
}

// keeps reports whether a node is to have a resource, be it withheld.
func keeps(want *catalog.NodeResult, ref v1alpha1.ResourceRef) bool {
	return want.EntryHash(ref) != "" || slices.ContainsFunc(want.Spec.Withheld, func(w v1alpha1.Withheld) bool { return w.Ref == ref })
}

func (d *deselection) learn(name string, known []v1alpha1.ResourceRef, c *v1alpha1.Catalog) {
	if known == nil {
		known = refsOf(c.Entries)
	}
	d.refs[name] = known
}

func refsOf(entries []v1alpha1.CatalogEntry) []v1alpha1.ResourceRef {
	refs := make([]v1alpha1.ResourceRef, len(entries))
	for i := range entries {
		refs[i] = entries[i].Ref()
	}
	return refs
}

// learnBefore finds out what is in the catalogs that a node has. One that nobody has any more
// has nothing in it.
func (r *Fleet) learnBefore(ctx context.Context, c nodeChange, known map[string][]v1alpha1.ResourceRef) error {
	for _, of := range c.before.Catalogs {
		if _, knows := r.deselection.refs[of.Name]; knows {
			continue
		}
		var found v1alpha1.Catalog
		if known[of.Name] == nil {
			if err := r.Live.Get(ctx, types.NamespacedName{Name: of.Name}, &found); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("cannot read Catalog %s, which node %s has: %w", of.Name, c.node, err)
			}
		}
		r.deselection.learn(of.Name, known[of.Name], &found)
	}
	return nil
}

// lostByItself are the resources that a node has, will not have, and that speak of the
// same nodes as they did when it last was told all.
func (r *Fleet) lostByItself(c nodeChange, known drops) []v1alpha1.ResourceRef {
	since := c.since
	if since == nil {
		since = r.deselection.first
	}
	stays := func(ref v1alpha1.ResourceRef) bool {
		return keeps(c.want, ref) || !r.compiled.resources.aimsAlike(ref, since)
	}
	refs := slices.DeleteFunc(slices.Concat(r.deselection.dropped(c, known), own(c)), stays)
	slices.Sort(refs)
	return slices.Compact(refs)
}

// own are the resources among what a node alone has, and what is withheld from it, unless
// they are the same as before.
func own(c nodeChange) []v1alpha1.ResourceRef {
	var refs []v1alpha1.ResourceRef
	if !slices.EqualFunc(c.before.Entries, c.want.Spec.Entries, func(a, b v1alpha1.CatalogEntry) bool { return a.Kind == b.Kind && a.Name == b.Name }) {
		refs = refsOf(c.before.Entries)
	}
	for _, w := range c.before.Withheld {
		refs = append(refs, w.Ref)
	}
	return refs
}

// drops are what goes with the catalogs that a node leaves for others, by both: most nodes
// leave the same for the same.
type drops map[string][]v1alpha1.ResourceRef

func (d *deselection) dropped(c nodeChange, known drops) []v1alpha1.ResourceRef {
	left, come := without(c.before.Catalogs, c.want.Spec.Catalogs), without(c.want.Spec.Catalogs, c.before.Catalogs)
	key := strings.Join(left, ",") + ">" + strings.Join(come, ",")
	refs, ok := known[key]
	if !ok {
		still := map[v1alpha1.ResourceRef]bool{}
		for _, ref := range d.in(come) {
			still[ref] = true
		}
		refs = slices.DeleteFunc(d.in(left), func(ref v1alpha1.ResourceRef) bool { return still[ref] })
		known[key] = refs
	}
	return refs
}

// in are the resources in catalogs.
func (d *deselection) in(catalogs []string) (refs []v1alpha1.ResourceRef) {
	for _, name := range catalogs {
		refs = append(refs, d.refs[name]...)
	}
	return refs
}

// without are the names of catalogs that are not among others.
func without(these, others []v1alpha1.CatalogRef) (names []string) {
	for _, c := range these {
		if !slices.Contains(others, c) {
			names = append(names, c.Name)
		}
	}
	return names
}

// differing are the resources of which a node may have something else than it should.
func (d *deselection) differing(c nodeChange) []v1alpha1.ResourceRef {
	refs := slices.Concat(
		d.in(without(c.before.Catalogs, c.want.Spec.Catalogs)), d.in(without(c.want.Spec.Catalogs, c.before.Catalogs)),
		refsOf(c.before.Entries), refsOf(c.want.Spec.Entries))
	for _, w := range slices.Concat(c.before.Withheld, c.want.Spec.Withheld) {
		refs = append(refs, w.Ref)
	}
	return refs
}

// stillHas reports whether a node that is held has a resource.
func (d *deselection) stillHas(node *v1alpha1.NodeCatalog, ref v1alpha1.ResourceRef) bool {
	if !d.holds(node.Name) {
		return false
	}
	return slices.Contains(d.in(without(node.Spec.Catalogs, nil)), ref) || slices.Contains(refsOf(node.Spec.Entries), ref)
}

// due reports whether it is time to look again at what is held.
func (d *deselection) due(now time.Time) bool {
	if len(d.held) == 0 {
		return false
	}
	for _, p := range d.lost {
		if now.Sub(p.at) >= lately {
			return true
		}
	}
	return false
}
