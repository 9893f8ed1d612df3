package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A draft is one resource on its way into catalogs: all of it that is the same on every
// node.
type draft struct {
	ref       v1alpha1.ResourceRef
	from      v1alpha1.Resource
	read      []configMapValue
	asked     []askedSecret
	targetKey string
	entry     v1alpha1.CatalogEntry
	hash      string            // of entry
	size      int               // of entry as JSON, in bytes
	claim     string            // kind and namevar; "" where that can't be told
	property  string            // the namevar as people write it: path "/etc/motd"
	bound     resource.Resource // nil where its type refuses it, and for content that is made by node
	edges     []edge
	own       *own   // nil for content that is the same everywhere
	fault     *fault // on all nodes; nil for none
	over      *draft // this one, withheld because of what its evaluations take; nil before it ever was
}

// compiled reports whether the draft's entry is complete and the same on every node.
func (d *draft) compiled() bool { return d.fault == nil && d.own == nil }

// failing is the draft with another fault.
func (d *draft) failing(f *fault) *draft {
	other := *d
	other.fault = f
	return &other
}

// withheld is the draft with a fault that may go away while the resource stays as it is. It is the same again for the
// same fault.
func (d *draft) withheld(f *fault) *draft {
	if d.over == nil || d.over.fault.message != f.message {
		d.over = d.failing(f)
	}
	return d.over
}

// An edge is one reference that a user wrote.
type edge struct {
	attribute string
	ref       v1alpha1.ResourceRef
	first     bool // the other comes first
}

func edgesOf(e v1alpha1.Edges) []edge {
	var all []edge
	for _, list := range []struct {
		attribute string
		refs      []v1alpha1.ResourceRef
		first     bool
	}{
		{"require", e.Require, true},
		{"subscribe", e.Subscribe, true},
		{"before", e.Before, false},
		{"notify", e.Notify, false},
	} {
		for _, ref := range list.refs {
			all = append(all, edge{list.attribute, ref, list.first})
		}
	}
	return all
}

// drafting is what all drafts are made with.
type drafting struct {
	known     map[string]resource.Kind
	configMap func(v1alpha1.KeyRef) (string, bool)
	secret    func(v1alpha1.KeyRef) SecretValue
	refused   map[v1alpha1.ResourceRef]string
	// applied says that the drafts are applied at once and never become part of a Catalog:
	// they need neither a form as JSON nor its hash.
	applied bool
}

// draft does for a resource what needs no node. It never fails: what is wrong becomes the
// draft's fault.
func (by drafting) draft(r v1alpha1.Resource) *draft {
	d := &draft{entry: emptyEntry(r), from: r, targetKey: targetKey(r.GetTargeting())}
	d.ref = d.entry.Ref()
	if why, ok := by.refused[d.ref]; ok {
		d.fault = faultf(v1alpha1.ReasonInvalidSpec, "%s", why)
		return d
	}
	if d.entry.Edges != nil {
		d.edges = edgesOf(*d.entry.Edges)
	}
	r, t, f := by.resolve(d, r)
	d.fault = f
	by.fill(d, r)
	if t != nil {
		d.own = newOwn(&own{by: by.forgetful(), template: t, resource: r, entry: d.entry})
	}
	by.seclude(d, r)
	return d
}

func emptyEntry(r v1alpha1.Resource) v1alpha1.CatalogEntry {
	t := r.GetTargeting()
	return v1alpha1.CatalogEntry{
		Kind:           r.KindName(),
		Name:           r.GetName(),
		Noop:           t.Noop,
		Provider:       t.Provider,
		Audit:          set(t.Audit),
		Schedule:       t.Schedule,
		LogLevel:       canonicalLevel(t.LogLevel),
		DeletionPolicy: canonicalDeletion(t.DeletionPolicy),
		Edges:          canonicalEdges(t.Edges),
	}
}

// canonicalDeletion leaves out what goes without saying.
func canonicalDeletion(p v1alpha1.DeletionPolicy) v1alpha1.DeletionPolicy {
	if p == v1alpha1.DeletionOrphan {
		return ""
	}
	return p
}

// canonicalLevel leaves out what goes without saying.
func canonicalLevel(l v1alpha1.LogLevel) v1alpha1.LogLevel {
	if l == v1alpha1.LogLevelNotice {
		return ""
	}
	return l
}

// canonicalEdges sorts what a user may write in any order; nil for no edge at all.
func canonicalEdges(e v1alpha1.Edges) *v1alpha1.Edges {
	if len(e.Require)+len(e.Before)+len(e.Notify)+len(e.Subscribe) == 0 {
		return nil
	}
	return &v1alpha1.Edges{Require: set(e.Require), Before: set(e.Before), Notify: set(e.Notify), Subscribe: set(e.Subscribe)}
}

func set[T ~string](words []T) []T {
	if len(words) == 0 {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(words)))
}

// fill puts the attributes into the draft's entry and claims its namevar.
func (by drafting) fill(d *draft, r v1alpha1.Resource) {
	entry, bound, f := by.encode(d.entry, r)
	if f != nil {
		if d.fault == nil {
			d.fault = f
		}
		return
	}
	d.entry = entry
	d.claim = entry.Kind + "\x00" + entry.Namevar
	d.property = fmt.Sprintf("%s %q", by.known[entry.Kind].NamevarName(), bound.Namevar())
	d.bound = bound
	if by.applied {
		return
	}
	d.hash, d.size = measure(entry, entry.Attributes.Raw)
	if d.size > maxCatalog && d.fault == nil {
		d.fault = tooLarge(d.size)
	}
}

func tooLarge(size int) *fault {
	return faultf(v1alpha1.ReasonTooLarge, "it takes %d KiB, and a catalog has room for %d: let the host fetch so large a file", size>>10, maxCatalog>>10)
}

// encode completes an entry with the attributes of a resource, if its type accepts them.
func (by drafting) encode(e v1alpha1.CatalogEntry, r v1alpha1.Resource) (v1alpha1.CatalogEntry, resource.Resource, *fault) {
	if !by.applied {
		raw, err := json.Marshal(r.GetAttributes())
		if err == nil {
			raw, err = sortKeys(raw)
		}
		if err != nil {
			return e, nil, faultf(v1alpha1.ReasonInvalidSpec, "cannot encode its attributes: %v", err)
		}
		e.Attributes = &runtime.RawExtension{Raw: raw}
	}
	return by.bind(e, r)
}

func (by drafting) bind(e v1alpha1.CatalogEntry, r v1alpha1.Resource, secrets ...resource.Secret) (v1alpha1.CatalogEntry, resource.Resource, *fault) {
	kind, ok := by.known[e.Kind]
	if !ok {
		return e, nil, faultf(v1alpha1.ReasonInvalidSpec, "%v", unknownKind(e.Kind, by.known))
	}
	bound, err := kind.Adopt(resource.Ref{Kind: e.Kind, Name: e.Name}, r.GetAttributes(), secrets...)
	if err == nil {
		err = errors.Join(kind.CheckProvider(e.Provider), accepted(e, bound))
	}
	if err != nil {
		return e, nil, faultf(v1alpha1.ReasonInvalidSpec, "%v", err)
	}
	e.Namevar = bound.Namevar()
	return e, bound, nil
}

// accepted tells a bound resource what its entry says beside the attributes, and says
// what of it can't be.
func accepted(e v1alpha1.CatalogEntry, bound resource.Resource) error {
	if e.Schedule != nil {
		if _, err := scheduleOf(*e.Schedule); err != nil {
			return err
		}
	}
	if e.DeletionPolicy.Acts() {
		if _, err := bound.Gone(); err != nil {
			return err
		}
	}
	return audited(e, bound)
}
