package draft

import (
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
	"github.com/fettle-dev/fettle/internal/expression"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A Draft is the part of a resource that is the same on every node.
type Draft struct {
	Ref      v1alpha1.ResourceRef
	Entry    v1alpha1.CatalogEntry
	Hash     string            // of Entry
	Size     int               // of Entry as JSON, in bytes
	Claim    string            // kind and namevar; "" if unknown
	Property string            // the namevar as users write it: path "/etc/motd"
	Bound    resource.Resource // nil if its type rejects the attributes, or they are known per node
	Edges    []Edge
	PerNode  *PerNode     // nil if the entry is the same on every node
	Fault    *fault.Fault // on every node; nil for none
	Place    int          // in the order of the catalog
}

// An Edge is one reference to another resource.
type Edge struct {
	Attribute string
	Ref       v1alpha1.ResourceRef
	First     bool // the other resource comes first
}

func edgesOf(e *v1alpha1.Edges) []Edge {
	if e == nil {
		return nil
	}
	var all []Edge
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
			all = append(all, Edge{list.attribute, ref, list.first})
		}
	}
	return all
}

// A Drafter makes drafts.
type Drafter struct {
	Kinds []resource.Kind
	Env   *expression.Environment
	// ConfigMap and Secret return the value of a key; nil has no keys.
	ConfigMap func(v1alpha1.KeyRef) (string, bool)
	Secret    func(v1alpha1.KeyRef) SecretValue
	// Refused maps invalid resources to an explanation.
	Refused map[v1alpha1.ResourceRef]string
	// BindOnly is set if drafts are applied at once: attributes are bound and not encoded, and secrets are not sealed.
	BindOnly bool
}

// draft never fails: an error becomes the draft's fault.
func (by Drafter) draft(r v1alpha1.Resource) *Draft {
	d := &Draft{Entry: newEntry(r)}
	d.Ref = d.Entry.Ref()
	if why, ok := by.Refused[d.Ref]; ok {
		d.Fault = fault.New(v1alpha1.ReasonInvalidSpec, "%s", why)
		return d
	}
	d.Edges = edgesOf(d.Entry.Edges)
	r, template, f := by.resolve(r)
	d.Fault = f
	by.addAttributes(d, r)
	if template != nil {
		d.PerNode = newTemplated(by, d, template, r)
	}
	by.bindSecrets(d, r)
	return d
}

// newEntry omits defaults and sorts lists whose order has no meaning.
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

// sorted returns the distinct words in order.
func sorted[T ~string](words []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(words)))
}

// addAttributes completes the draft's entry and claims its namevar.
func (by Drafter) addAttributes(d *Draft, r v1alpha1.Resource) {
	made := by.encode(d.Entry, r)
	if made.Fault != nil {
		if d.Fault == nil {
			d.Fault = made.Fault
		}
		return
	}
	d.Entry, d.Bound, d.Hash, d.Size = made.Entry, made.Bound, made.Hash, made.Size
	d.Claim = d.Entry.Kind + "\x00" + d.Entry.Namevar
	if kind, err := catalog.Kind(d.Entry.Kind, by.Kinds); err == nil {
		d.Property = fmt.Sprintf("%s %q", kind.NamevarName(), d.Entry.Namevar)
	}
}

// A Rendering is a complete entry, or the reason why there is none.
type Rendering struct {
	Entry v1alpha1.CatalogEntry
	Bound resource.Resource
	Hash  string
	Size  int // as JSON, in bytes
	Fault *fault.Fault
}

// encode completes an entry with the attributes of a resource, if its type accepts them.
func (by Drafter) encode(e v1alpha1.CatalogEntry, r v1alpha1.Resource) *Rendering {
	if !by.BindOnly {
		var err error
		if e.Attributes, err = catalog.Encode(r.GetAttributes()); err != nil {
			return &Rendering{Fault: fault.New(v1alpha1.ReasonInvalidSpec, "cannot encode its attributes: %v", err)}
		}
	}
	bound, err := by.bind(e, r)
	if err != nil {
		return &Rendering{Fault: fault.New(v1alpha1.ReasonInvalidSpec, "%v", err)}
	}
	e.Namevar = bound.Namevar()
	if by.BindOnly {
		return &Rendering{Entry: e, Bound: bound}
	}
	return measured(e, bound)
}

func measured(e v1alpha1.CatalogEntry, bound resource.Resource) *Rendering {
	hash, size := catalog.Measure(e)
	if size > MaxCatalog {
		return &Rendering{Fault: fault.New(v1alpha1.ReasonTooLarge, "it takes %d KiB, and a catalog has room for %d: let the host fetch so large a file",
			size>>10, MaxCatalog>>10)}
	}
	return &Rendering{Entry: e, Bound: bound, Hash: hash, Size: size}
}

func (by Drafter) bind(e v1alpha1.CatalogEntry, r v1alpha1.Resource, secrets ...resource.Secret) (resource.Resource, error) {
	kind, err := catalog.Kind(e.Kind, by.Kinds)
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
