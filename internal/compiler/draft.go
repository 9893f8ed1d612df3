package compiler

import (
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/expression"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A draft is the part of a resource that is the same on every node.
type draft struct {
	ref      v1alpha1.ResourceRef
	entry    v1alpha1.CatalogEntry
	hash     string            // of entry
	size     int               // of entry as JSON, in bytes
	claim    string            // kind and namevar; "" if unknown
	property string            // the namevar as users write it: path "/etc/motd"
	bound    resource.Resource // nil if its type rejects the attributes, or they are known per node
	edges    []edge
	perNode  *perNode // nil if the entry is the same on every node
	fault    *fault   // on every node; nil for none
	place    int      // in the order of the catalog
}

// An edge is one reference to another resource.
type edge struct {
	attribute string
	ref       v1alpha1.ResourceRef
	first     bool // the other resource comes first
}

func edgesOf(e *v1alpha1.Edges) []edge {
	if e == nil {
		return nil
	}
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

// A drafter makes drafts.
type drafter struct {
	kinds     []resource.Kind
	env       *expression.Environment
	configMap func(v1alpha1.KeyRef) (string, bool)
	secret    func(v1alpha1.KeyRef) SecretValue
	refused   map[v1alpha1.ResourceRef]string
	// bindOnly says that drafts are applied at once: attributes are bound and not encoded, and secrets not sealed.
	bindOnly bool
}

// draft never fails: an error becomes the draft's fault.
func (by drafter) draft(r v1alpha1.Resource) *draft {
	d := &draft{entry: newEntry(r)}
	d.ref = d.entry.Ref()
	if why, ok := by.refused[d.ref]; ok {
		d.fault = faultf(v1alpha1.ReasonInvalidSpec, "%s", why)
		return d
	}
	d.edges = edgesOf(d.entry.Edges)
	r, template, f := by.resolve(r)
	d.fault = f
	by.addAttributes(d, r)
	if template != nil {
		d.perNode = newTemplated(by, d, template, r)
	}
	by.bindSecrets(d, r)
	return d
}

// newEntry leaves out defaults and sorts what a user may write in any order.
func newEntry(r v1alpha1.Resource) v1alpha1.CatalogEntry {
	t := r.GetTargeting()
	e := v1alpha1.CatalogEntry{
		Kind: r.KindName(), Name: r.GetName(), Noop: t.Noop, Provider: t.Provider,
		Audit: sorted(t.Audit), Schedule: t.Schedule, LogLevel: t.LogLevel, DeletionPolicy: t.DeletionPolicy,
	}
	if e.LogLevel == v1alpha1.LogLevelNotice {
		e.LogLevel = ""
	}
	if e.DeletionPolicy == v1alpha1.DeletionOrphan {
		e.DeletionPolicy = ""
	}
	if len(t.Require)+len(t.Before)+len(t.Notify)+len(t.Subscribe) > 0 {
		e.Edges = &v1alpha1.Edges{Require: sorted(t.Require), Before: sorted(t.Before), Notify: sorted(t.Notify), Subscribe: sorted(t.Subscribe)}
	}
	return e
}

// sorted returns each word once.
func sorted[T ~string](words []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(words)))
}

// addAttributes completes the draft's entry and claims its namevar.
func (by drafter) addAttributes(d *draft, r v1alpha1.Resource) {
	made := by.encode(d.entry, r)
	if made.fault != nil {
		if d.fault == nil {
			d.fault = made.fault
		}
		return
	}
	d.entry, d.bound, d.hash, d.size = made.entry, made.bound, made.hash, made.size
	d.claim = d.entry.Kind + "\x00" + d.entry.Namevar
	if kind, err := catalog.Kind(d.entry.Kind, by.kinds); err == nil {
		d.property = fmt.Sprintf("%s %q", kind.NamevarName(), d.entry.Namevar)
	}
}

// A rendering is a complete entry, or the reason why there is none.
type rendering struct {
	entry v1alpha1.CatalogEntry
	bound resource.Resource
	hash  string
	size  int // as JSON, in bytes
	fault *fault
}

// encode completes an entry with the attributes of a resource, if its type accepts them.
func (by drafter) encode(e v1alpha1.CatalogEntry, r v1alpha1.Resource) *rendering {
	if !by.bindOnly {
		var err error
		if e.Attributes, err = catalog.Encode(r.GetAttributes()); err != nil {
			return &rendering{fault: faultf(v1alpha1.ReasonInvalidSpec, "cannot encode its attributes: %v", err)}
		}
	}
	bound, err := by.bind(e, r)
	if err != nil {
		return &rendering{fault: faultf(v1alpha1.ReasonInvalidSpec, "%v", err)}
	}
	e.Namevar = bound.Namevar()
	if by.bindOnly {
		return &rendering{entry: e, bound: bound}
	}
	return measured(e, bound)
}

func measured(e v1alpha1.CatalogEntry, bound resource.Resource) *rendering {
	hash, size := catalog.Measure(e)
	if size > maxCatalog {
		return &rendering{fault: faultf(v1alpha1.ReasonTooLarge, "it takes %d KiB, and a catalog has room for %d: let the host fetch so large a file",
			size>>10, maxCatalog>>10)}
	}
	return &rendering{entry: e, bound: bound, hash: hash, size: size}
}

func (by drafter) bind(e v1alpha1.CatalogEntry, r v1alpha1.Resource, secrets ...resource.Secret) (resource.Resource, error) {
	kind, err := catalog.Kind(e.Kind, by.kinds)
	if err != nil {
		return nil, err
	}
	bound, err := kind.Adopt(resource.Ref{Kind: e.Kind, Name: e.Name}, r.GetAttributes(), secrets...)
	if err == nil {
		err = kind.CheckProvider(e.Provider)
	}
	if err == nil {
		err = catalog.Item(withoutEdges(e), bound).Invalid
	}
	if err == nil && e.DeletionPolicy.Acts() {
		_, err = bound.Gone()
	}
	return bound, err
}

// withoutEdges leaves edges to the validation of the graph, which explains them better.
func withoutEdges(e v1alpha1.CatalogEntry) v1alpha1.CatalogEntry {
	e.Edges = nil
	return e
}
