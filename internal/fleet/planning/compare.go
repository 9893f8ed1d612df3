package planning

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/contents"
)

// A change is that of a node's catalog. Many nodes share one.
type change struct {
	key      string // is the same for nodes whose catalogs change in the same way
	changes  []reports.PlanChange
	proposal *reports.Proposal
	size     int // of the proposal as JSON
}

// A comparer compares the desired states of nodes before and after a change.
type comparer struct {
	before, after map[string]*v1alpha1.Catalog

	differ  *contents.Differ
	entries map[string]map[v1alpha1.ResourceRef]v1alpha1.CatalogEntry // by name of the Catalog
	known   map[[2]*compiler.NodeResult]*change                       // nodes without anything of their own share their results
}

// nodes compares the desired states of a node, which differ.
func (c *comparer) nodes(was, is *compiler.NodeResult) *change {
	if c.differ == nil {
		c.differ, c.known = &contents.Differ{Entries: c.entriesOf}, map[[2]*compiler.NodeResult]*change{}
		c.entries = map[string]map[v1alpha1.ResourceRef]v1alpha1.CatalogEntry{}
	}
	pair := [2]*compiler.NodeResult{was, is}
	if c.known[pair] == nil {
		c.known[pair] = c.compare(was, is)
	}
	return c.known[pair]
}

func (c *comparer) compare(was, is *compiler.NodeResult) *change {
	result := &change{proposal: &reports.Proposal{Base: was.Digest, Digest: is.Digest}}
	withheld, before := map[v1alpha1.ResourceRef]v1alpha1.Withheld{}, contents.Withheld(was.Spec)
	for _, w := range is.Spec.Withheld {
		withheld[w.Ref] = w
		result.proposal.Withheld = append(result.proposal.Withheld, w.Ref)
	}
	id := sha256.New()
	for _, ref := range c.differ.Diff(was.Spec, is.Spec).Changed {
		old, had := c.find(was.Spec, ref)
		if _, not := before[ref]; not {
			had = false
		}
		now, has := c.find(is.Spec, ref)
		w, not := withheld[ref]
		has = has && !not
		switch {
		case has:
			result.proposal.Entries = append(result.proposal.Entries, now)
		case had:
			result.proposal.Remove = append(result.proposal.Remove, ref)
		}
		one := reports.PlanChange{Ref: ref, Action: actionOf(had, has, not), Reason: w.Reason, Message: w.Message, Noop: isNoop(old) && !has || isNoop(now) && has}
		result.changes = append(result.changes, one)
		_, _ = fmt.Fprintf(id, "%q %q %q %q %s %s\n", ref, one.Action, one.Reason, one.Message, hashOf(old, had), hashOf(now, has)) // a hash accepts every write
	}
	result.key = fmt.Sprintf("%x", id.Sum(nil)[:16])
	raw, _ := json.Marshal(result.proposal) // it was made of JSON
	result.size = len(raw)
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

func isNoop(e v1alpha1.CatalogEntry) bool { return e.Noop != nil && *e.Noop }

// hashOf identifies an entry, whichever node its secrets are sealed for.
func hashOf(e v1alpha1.CatalogEntry, exists bool) string {
	if !exists {
		return ""
	}
	e.Sealed = slices.Clone(e.Sealed)
	for i := range e.Sealed {
		e.Sealed[i].Key, e.Sealed[i].Value = "", nil
	}
	hash, _ := catalog.Measure(e)
	return hash
}

// find returns the entry of a resource in a spec, withheld or not.
func (c *comparer) find(spec v1alpha1.NodeCatalogSpec, ref v1alpha1.ResourceRef) (v1alpha1.CatalogEntry, bool) {
	for _, shared := range spec.Catalogs {
		if c.entries[shared.Name] == nil {
			all := map[v1alpha1.ResourceRef]v1alpha1.CatalogEntry{}
			for _, e := range c.entriesOf(shared.Name) {
				all[e.Ref()] = e
			}
			c.entries[shared.Name] = all
		}
		if e, ok := c.entries[shared.Name][ref]; ok {
			return e, true
		}
	}
	i := slices.IndexFunc(spec.Entries, func(e v1alpha1.CatalogEntry) bool { return e.Ref() == ref })
	if i < 0 {
		return v1alpha1.CatalogEntry{}, false
	}
	return spec.Entries[i], true
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
func listed(all []reports.PlanChange, room int) (some []reports.PlanChange, omitted int32) {
	some = all[:min(len(all), reports.MaxPlanChanges, room)]
	return some, int32(len(all) - len(some)) //nolint:gosec // a catalog has fewer
}

// keyOf joins what identifies a group.
func keyOf(parts ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(parts, "\x00"))))[:32]
}
