package overview

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/revision"
)

// Waits knows which resources have yet to reach which nodes, because of RolloutPolicies. The zero value knows of none.
type Waits struct {
	policies []Policy
	kept     []string // names of CatalogRevisions
	contents map[string]revision.Content
	changed  map[step][]v1alpha1.ResourceRef
}

// A step leads from one revision to another.
type step struct{ from, to string }

// Waits finds out what nodes wait for. It reads the revisions of policies whose rollouts are in progress or wait. A cluster without
// RolloutPolicies has no waits.
func (c *Client) Waits(ctx context.Context, nodes []Node) (w Waits, err error) {
	all, err := c.Policies(ctx)
	if apierrors.IsNotFound(err) { // an older manager has none
		return w, nil
	}
	if err != nil {
		return w, err
	}
	active := PoliciesOf(all)
	if !slices.ContainsFunc(active, Policy.Active) {
		return w, nil
	}
	kept, err := c.RevisionNames(ctx)
	if err != nil {
		return w, err
	}
	read := c.revisions()
	return WaitsOf(active, kept, nodes, func(name string) (revision.Content, error) { return read.content(ctx, name) })
}

// WaitsOf finds out what nodes wait for. kept are the names of the revisions that the cluster has; content returns what one of them has.
func WaitsOf(policies []Policy, kept []string, nodes []Node, content func(revision string) (revision.Content, error)) (Waits, error) {
	w := Waits{policies: policies, kept: kept, contents: map[string]revision.Content{}, changed: map[step][]v1alpha1.ResourceRef{}}
	for _, n := range nodes {
		if _, s, waits := w.step(n); waits {
			if err := w.compare(s, content); err != nil {
				return w, err
			}
		}
	}
	return w, nil
}

// compare records what a step changes.
func (w Waits) compare(s step, content func(revision string) (revision.Content, error)) (err error) {
	if _, known := w.changed[s]; known {
		return nil
	}
	for _, name := range []string{s.from, s.to} {
		if w.contents[name], err = content(name); err != nil {
			return err
		}
	}
	w.changed[s] = revision.Changed(w.contents[s.from], w.contents[s.to])
	return nil
}

// step returns the step that a node has yet to take, with its policy. A node whose revision is not kept any more has the stable one, as the
// manager sees it.
func (w Waits) step(n Node) (p Policy, s step, waits bool) {
	if n.Catalog == nil || n.Catalog.Spec.Rollout == nil {
		return p, s, false
	}
	is := n.Catalog.Spec.Rollout
	i := slices.IndexFunc(w.policies, func(p Policy) bool { return p.Name == is.Policy })
	if i < 0 || !w.policies[i].Active() {
		return p, s, false
	}
	p = w.policies[i]
	s = step{is.Revision, p.Newest()}
	if !slices.Contains(w.kept, s.from) {
		s.from = p.Status.Stable
	}
	if !slices.Contains(w.kept, s.to) { // it is stored when its rollout begins
		s.to = p.Goal()
	}
	return p, s, s.from != "" && s.from != s.to
}

// Of returns why a node waits for a resource, such as "still at revision 0123456789: prod waits for staging"; "" if it does not.
func (w Waits) Of(n Node, ref v1alpha1.ResourceRef) string {
	p, s, waits := w.step(n)
	if !waits || !slices.Contains(w.changed[s], ref) {
		return ""
	}
	return reasonOf(p, s)
}

// OfNode returns the resources for which a node waits, sorted, and why.
func (w Waits) OfNode(n Node) (refs []v1alpha1.ResourceRef, why string) {
	p, s, waits := w.step(n)
	if !waits {
		return nil, ""
	}
	for _, ref := range w.changed[s] {
		if w.selects(s.from, ref, n) || w.selects(s.to, ref, n) {
			refs = append(refs, ref)
		}
	}
	if len(refs) == 0 {
		return nil, ""
	}
	return refs, reasonOf(p, s)
}

// selects reports whether a revision gives a resource to a node, or would if it were not at fault.
func (w Waits) selects(name string, ref v1alpha1.ResourceRef, n Node) bool {
	r, has := w.contents[name][ref]
	if !has {
		return false
	}
	s, err := targetingOf(r.Targeting)
	return err == nil && s.excludes(n) == ""
}

func reasonOf(p Policy, s step) string {
	return fmt.Sprintf("still at revision %s: %s", v1alpha1.ShortRevision(s.from), p.Why())
}

// Explain adds to explanations of a resource which nodes wait for it. They are in the order of the nodes.
func (w Waits) Explain(ref v1alpha1.ResourceRef, all []Explanation, nodes []Node) {
	for i, n := range nodes {
		if why := w.Of(n, ref); why != "" && all[i].Selected {
			all[i].wait(why)
		}
	}
}

// wait adds that the node waits for a rollout. What fails or is not known there stays so.
func (e *Explanation) wait(why string) {
	if e.State == v1alpha1.StateInSync || e.State == v1alpha1.StatePending {
		e.State, e.Reason = v1alpha1.StatePending, why
		return
	}
	e.Reason = why + "; " + e.Reason
}
