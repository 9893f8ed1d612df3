package planning

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/contents"
)

// A change is a change of a node's catalog. Many nodes share one.
type change struct {
	was, is *compiler.NodeResult
	key     string               // is the same for nodes whose catalogs change in the same way
	changes []reports.PlanChange // the first ones
	omitted int                  // the number of the others
	size    int                  // of the proposal as JSON
	// proposal is what nodes are asked; nil if it is made anew each time, because the proposals of all nodes together are large.
	proposal *reports.Proposal
}

// concerns reports whether a resource is in the catalogs before or after the change.
func (c *change) concerns(ref v1alpha1.ResourceRef) bool {
	return c.was.EntryHash(ref)+c.is.EntryHash(ref) != ""
}

// maxCompared is the number of changed resources of all nodes together. Nodes with the same change count once.
const maxCompared = 500_000

// maxKept is the size of all proposals that are kept, as JSON.
const maxKept = 16 << 20

// A comparer compares the desired states of nodes before and after a change. It is safe for concurrent use.
type comparer struct {
	before, after map[string]*v1alpha1.Catalog

	mu       sync.Mutex
	differ   *contents.Differ
	entries  map[string]map[v1alpha1.ResourceRef]*v1alpha1.CatalogEntry // by name of the Catalog
	known    map[[2]*compiler.NodeResult]*change                        // nodes without anything of their own share their results
	compared int
	kept     int
}

func newComparer(before, after map[string]*v1alpha1.Catalog) *comparer {
	c := &comparer{
		before: before, after: after, known: map[[2]*compiler.NodeResult]*change{},
		entries: map[string]map[v1alpha1.ResourceRef]*v1alpha1.CatalogEntry{},
	}
	c.differ = &contents.Differ{Entries: c.entriesOf}
	return c
}

// nodes compares the desired states of a node, which differ. The error is [ErrTooLarge], or the error of ctx.
func (c *comparer) nodes(ctx context.Context, was, is *compiler.NodeResult) (*change, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pair := [2]*compiler.NodeResult{was, is}
	if c.known[pair] != nil {
		return c.known[pair], nil
	}
	changed := &change{was: was, is: is}
	id := sha256.New()
	p := c.compare(was, is, func(one reports.PlanChange, old, now *v1alpha1.CatalogEntry) {
		if c.compared++; len(changed.changes) < reports.MaxPlanChanges {
			changed.changes = append(changed.changes, one)
		} else {
			changed.omitted++
		}
		_, _ = fmt.Fprintf(id, "%q %q %q %q %s %s\n", one.Ref, one.Action, one.Reason, one.Message, hashOf(old), hashOf(now)) // a hash accepts every write
	})
	changed.key = fmt.Sprintf("%x", id.Sum(nil)[:16])
	raw, _ := json.Marshal(p) // it was made of JSON
	if changed.size = len(raw); c.kept+changed.size <= maxKept {
		c.kept += changed.size
		changed.proposal = p
	}
	c.known[pair] = changed
	if c.compared > maxCompared {
		return nil, ErrTooLarge
	}
	return changed, context.Cause(ctx)
}

// proposal returns what nodes with a change are asked.
func (c *comparer) proposal(of *change) *reports.Proposal {
	if of.proposal != nil {
		return of.proposal
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.compare(of.was, of.is, func(reports.PlanChange, *v1alpha1.CatalogEntry, *v1alpha1.CatalogEntry) {})
}

// compare returns what a node is asked, and calls each with every change, and the entries before and after; nil for none.
func (c *comparer) compare(was, is *compiler.NodeResult, each func(one reports.PlanChange, old, now *v1alpha1.CatalogEntry)) *reports.Proposal {
	result := &reports.Proposal{Base: was.Digest, Digest: is.Digest, Reasons: slices.Clone(is.Spec.Withheld)}
	for _, w := range result.Reasons {
		result.Withheld = append(result.Withheld, w.Ref)
	}
	withheldBefore, withheld := contents.Withheld(was.Spec), contents.Withheld(is.Spec)
	ownBefore, ownNow := byRef(was.Spec.Entries), byRef(is.Spec.Entries)
	for _, ref := range c.differ.Diff(was.Spec, is.Spec).Changed {
		old, now := cmp.Or(c.find(was.Spec, ref), ownBefore[ref]), cmp.Or(c.find(is.Spec, ref), ownNow[ref])
		if _, withheld := withheldBefore[ref]; withheld {
			old = nil
		}
		w, isWithheld := withheld[ref]
		if isWithheld {
			now = nil
		}
		switch {
		case now != nil:
			result.Entries = append(result.Entries, unsealed(*now))
		case old != nil:
			result.Remove = append(result.Remove, ref)
		}
		one := reports.PlanChange{Ref: ref, Action: actionOf(old != nil, now != nil, isWithheld), Reason: w.Reason, Message: w.Message, Noop: isNoop(cmp.Or(now, old))}
		each(one, old, now)
	}
	return result
}

// actionOf is what happens to a resource that a node had, or has after the change, or that is withheld then.
func actionOf(had, has, withheld bool) reports.Action {
	switch {
	case withheld:
		return reports.ActionWithhold
	case had && has:
		return reports.ActionChange
	case has:
		return reports.ActionAdd
	}
	return reports.ActionRemove
}

func isNoop(e *v1alpha1.CatalogEntry) bool { return e != nil && e.Noop != nil && *e.Noop }

// hashOf identifies an entry, whichever node its secrets are sealed for.
func hashOf(e *v1alpha1.CatalogEntry) string {
	if e == nil {
		return ""
	}
	hash, _ := catalog.Measure(unsealed(*e))
	return hash
}

// unsealed returns an entry that names its values from Secrets, without the values.
func unsealed(e v1alpha1.CatalogEntry) v1alpha1.CatalogEntry {
	e.Sealed = slices.Clone(e.Sealed)
	for i := range e.Sealed {
		e.Sealed[i] = v1alpha1.SealedValue{Attribute: e.Sealed[i].Attribute, From: v1alpha1.SealedFrom{KeyRef: e.Sealed[i].From.KeyRef}}
	}
	return e
}

// find returns the entry of a resource in the catalogs of a spec, withheld or not; nil if there is none.
func (c *comparer) find(spec v1alpha1.NodeCatalogSpec, ref v1alpha1.ResourceRef) *v1alpha1.CatalogEntry {
	for _, shared := range spec.Catalogs {
		if c.entries[shared.Name] == nil {
			c.entries[shared.Name] = byRef(c.entriesOf(shared.Name))
		}
		if e := c.entries[shared.Name][ref]; e != nil {
			return e
		}
	}
	return nil
}

func byRef(entries []v1alpha1.CatalogEntry) map[v1alpha1.ResourceRef]*v1alpha1.CatalogEntry {
	all := make(map[v1alpha1.ResourceRef]*v1alpha1.CatalogEntry, len(entries))
	for i := range entries {
		all[entries[i].Ref()] = &entries[i]
	}
	return all
}

func (c *comparer) entriesOf(name string) []v1alpha1.CatalogEntry {
	for _, all := range []map[string]*v1alpha1.Catalog{c.after, c.before} {
		if found := all[name]; found != nil {
			return found.Entries
		}
	}
	return nil
}

// listed returns the changes that a group lists, and the number of others. All groups together have room for so many more.
func (c *change) listed(room int) (some []reports.PlanChange, omitted int32) {
	some = c.changes[:min(len(c.changes), room)]
	return some, int32(c.omitted + len(c.changes) - len(some)) //nolint:gosec // a catalog has fewer
}

// keyOf joins what identifies a group.
func keyOf(parts ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(parts, "\x00"))))[:32]
}
