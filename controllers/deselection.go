package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
)

// A deselection holds back what too many nodes would lose at once.
type deselection struct {
	hold
	first revisions // as far as is known of the time before the start
	// refs are what catalogs have in them, by name: those that nodes should have, and those
	// that some still do.
	refs map[string][]v1alpha1.ResourceRef
}

// holdBack leaves out of changes those of nodes that are held, and of nodes of which it can't
// tell what they have or why they lose it.
func (r *Fleet) holdBack(ctx context.Context, changes []nodeChange, existing nodeCatalogs) ([]nodeChange, error) {
	dropped := drops{}
	unclear, err := r.unclear(ctx, changes, dropped)
	var losses []loss
	for _, c := range changes {
		if unclear[c.node] || !c.edits() {
			continue
		}
		if refs := r.lostByItself(c, dropped); len(refs) > 0 {
			losses = append(losses, loss{c.node, c.at, refs})
		}
	}
	before := r.deselection.nodes()
	r.deselection.judge(losses, r.view(existing))
	r.logHeld(ctx, before)
	changes = slices.DeleteFunc(changes, func(c nodeChange) bool {
		held := r.deselection.holds(c.node)
		if held {
			r.rollout.start(c.node, c.has.Status.AppliedDigest, c.before, step{c.want.Digest, r.deselection.differing(c)})
		}
		return held || unclear[c.node]
	})
	for i := range changes {
		if c := &changes[i]; c.edits() {
			c.cleanup = r.cleanups(*c, dropped)
		}
	}
	return changes, err
}

// unclear are the nodes of which it can't tell what they have, or whether what they lose was
// deleted, and why.
func (r *Fleet) unclear(ctx context.Context, changes []nodeChange, dropped drops) (map[string]bool, error) {
	known := r.deselection.refs
	r.deselection.refs = make(map[string][]v1alpha1.ResourceRef, len(r.compiled.result.Catalogs))
	for name, c := range r.compiled.result.Catalogs {
		r.deselection.learn(name, known[name], c)
	}
	var failed []error
	unclear, gone := map[string]bool{}, map[string][]v1alpha1.ResourceRef{}
	for _, c := range changes {
		if !c.edits() {
			continue
		}
		if err := r.learnBefore(ctx, c, known); err != nil {
			failed = append(failed, err)
			unclear[c.node] = true
		} else if refs := r.goneBefore(c, dropped); len(refs) > 0 {
			gone[c.node] = refs
		}
	}
	return unclear, errors.Join(append(failed, r.spareMissed(ctx, gone, unclear))...)
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
func keeps(want *compiler.NodeResult, ref v1alpha1.ResourceRef) bool {
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

// lostByItself are the resources that a node may have, will not have, and that speak of
// the same nodes as they did when it last was told all.
func (r *Fleet) lostByItself(c nodeChange, known drops) []v1alpha1.ResourceRef {
	since := c.since
	if since == nil {
		since = r.deselection.first
	}
	was, is := withheldFrom(c.before), withheldFrom(c.want.Spec)
	stays := func(ref v1alpha1.ResourceRef) bool {
		// What waited for the node's first facts it never had.
		return is[ref] != "" || was[ref] == v1alpha1.ReasonWaitingForFacts || c.want.EntryHash(ref) != "" || !r.compiled.resources.aimsAlike(ref, since)
	}
	refs := slices.DeleteFunc(slices.Concat(r.dropped(c, known).refs, own(c)), stays)
	slices.Sort(refs)
	return slices.Compact(refs)
}

// goneBefore are the resources that a node has and that there are none of any more.
func (r *Fleet) goneBefore(c nodeChange, known drops) []v1alpha1.ResourceRef {
	return slices.Concat(r.dropped(c, known).gone, r.compiled.resources.without(own(c)))
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

// withheldFrom are the reasons for which a spec withholds resources, of which there may be thousands.
func withheldFrom(s v1alpha1.NodeCatalogSpec) map[v1alpha1.ResourceRef]string {
	reasons := make(map[v1alpha1.ResourceRef]string, len(s.Withheld))
	for _, w := range s.Withheld {
		reasons[w.Ref] = w.Reason
	}
	return reasons
}

// drops are what goes with the catalogs that a node leaves for others, by both: most nodes
// leave the same for the same.
type drops map[string]drop

// A drop is resources, and those of them that there are none of any more.
type drop struct{ refs, gone []v1alpha1.ResourceRef }

func (r *Fleet) dropped(c nodeChange, known drops) drop {
	d := &r.deselection
	left, come := without(c.before.Catalogs, c.want.Spec.Catalogs), without(c.want.Spec.Catalogs, c.before.Catalogs)
	key := strings.Join(left, ",") + ">" + strings.Join(come, ",")
	of, ok := known[key]
	if !ok {
		still := map[v1alpha1.ResourceRef]bool{}
		for _, ref := range d.in(come) {
			still[ref] = true
		}
		of.refs = slices.DeleteFunc(d.in(left), func(ref v1alpha1.ResourceRef) bool { return still[ref] })
		of.gone = r.compiled.resources.without(of.refs)
		known[key] = of
	}
	return of
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
