package compiler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
	"github.com/fettle-dev/fettle/internal/expression"
	"github.com/fettle-dev/fettle/internal/puppet"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A Draft is the part of a resource that is the same on every node.
type Draft struct {
	rendering // its Fault is on every node; Bound is nil also if the attributes are known per node
	Ref       v1alpha1.ResourceRef
	Identity  string // kind and canonical name, which no other resource on a node may have; "" if unknown
	Property  string // the namevar as users write it: path "/etc/motd"
	Location  string // where it manages something, as a resource.Kind has it; "" if that is unknown
	Edges     []edge
	PerNode   *perNodeEntry          // nil if the entry is the same on every node
	Remote    bool                   // one node acts for it
	Deleting  bool                   // it is being deleted, and compiled as absent; only of Remote types
	With      []v1alpha1.ResourceRef // resources for which the same node is to act
	Position  int                    // in the order of the catalog

	targeting *v1alpha1.Targeting // as it is written; only what selects nodes matters
	key       string              // of the targeting
}

// An edge is one reference to another resource.
type edge struct {
	Attribute string
	Ref       v1alpha1.ResourceRef
	First     bool // the other resource comes first
	// Instead says what to write if the kind is one of Puppet's; "" otherwise.
	Instead string
}

// edgesOf returns the edges of an entry.
func (by binder) edgesOf(e *v1alpha1.Edges) []edge {
	all := edgesOf(e)
	for i := range all {
		kind, _, _ := strings.Cut(string(all[i].Ref), "/")
		if _, err := catalog.Kind(kind, by.kinds); err != nil {
			all[i].Instead = puppet.Instead(string(all[i].Ref), by.names())
		}
	}
	return all
}

func (by binder) names() []string {
	var all []string
	for _, k := range by.kinds {
		all = append(all, k.Name())
	}
	return all
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
			all = append(all, edge{Attribute: list.attribute, Ref: ref, First: list.first})
		}
	}
	return all
}

// A drafter makes drafts.
type drafter struct {
	binder
	Input
	Env *expression.Environment
}

// A binder binds resources to their types.
type binder struct {
	kinds []resource.Kind
	// bindOnly is set if drafts are applied at once: attributes are bound and not encoded, and secrets are not sealed.
	bindOnly bool
	// stored is the entry that a resource is restored from. It is used as it is if its type rejects the attributes now.
	stored *v1alpha1.CatalogEntry
}

// draft never fails: an error becomes the draft's fault.
func (by drafter) draft(r v1alpha1.Resource) *Draft {
	d := &Draft{rendering: rendering{Entry: newEntry(r)}, targeting: storable(r.GetTargeting())}
	d.Entry.Type = by.External[d.Entry.Kind].Type
	d.Ref = d.Entry.Ref()
	if by.External[d.Entry.Kind].Remote {
		d.setRemote(r)
	}
	if f := by.External[d.Entry.Kind].Fault; f != nil {
		d.Fault, d.Edges = f, by.edgesOf(d.Entry.Edges)
		return d
	}
	if why, ok := by.Refused[d.Ref]; ok {
		d.Location = by.location(r)
		d.Fault = fault.New(v1alpha1.ReasonInvalidSpec, "%s", why)
		return d
	}
	d.Edges = by.edgesOf(d.Entry.Edges)
	written := r
	r, template, f := by.resolve(r)
	d.Fault = cmp.Or(d.Fault, f)
	by.addAttributes(d, r)
	if template != nil {
		d.PerNode = newTemplated(by.binder, d, template, r, written)
	}
	by.bindSecrets(d, r)
	if d.Remote && d.Fault == nil && d.PerNode == nil && !by.bindOnly {
		d.PerNode = &perNodeEntry{entry: d.Entry}
	}
	return d
}

// storable returns a targeting whose nodeSelector is not nil, which CatalogRevisions require: nil selects no node.
func storable(t *v1alpha1.Targeting) *v1alpha1.Targeting {
	if t.NodeSelector != nil {
		return t
	}
	const label = "node-restriction.kubernetes.io/none"
	is := *t
	is.NodeSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: label, Operator: metav1.LabelSelectorOpExists}, {Key: label, Operator: metav1.LabelSelectorOpDoesNotExist},
	}}
	return &is
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

// addAttributes completes the draft's entry and its identity.
func (by drafter) addAttributes(d *Draft, r v1alpha1.Resource) {
	made := by.encode(d.Entry, r)
	d.Fault = cmp.Or(d.Fault, made.Fault)
	if made.Fault != nil {
		d.Location = by.location(r)
		return
	}
	made.Fault = d.Fault
	d.rendering = *made
	d.identify()
}

// identify notes what the draft manages on a node. If its type rejects the attributes, only the namevar tells.
func (d *Draft) identify() {
	if d.Bound == nil {
		d.Identity, d.Property = d.Entry.Kind+"\x00"+d.Entry.Namevar, fmt.Sprintf("%q", d.Entry.Namevar)
		return
	}
	d.Location = d.Bound.Location()
	d.Identity = d.Entry.Kind + "\x00" + d.Bound.CanonicalName()
	d.Property = d.Bound.Identification()
	if name := d.Bound.CanonicalName(); name != d.Entry.Namevar {
		d.Property += fmt.Sprintf(" (canonically %q)", name)
	}
}

// location returns where an invalid resource would manage something.
func (by binder) location(r v1alpha1.Resource) string {
	kind, err := catalog.Kind(r.KindName(), by.kinds)
	if err != nil {
		return ""
	}
	return kind.Location(resource.Ref{Kind: kind.Name(), Name: r.GetName()}, r.GetAttributes())
}

// A rendering is a complete entry, or the reason why there is none.
type rendering struct {
	Entry v1alpha1.CatalogEntry
	Bound resource.Resource // nil if values are sealed, or its type rejects the attributes
	Hash  string            // of Entry
	Size  int               // of Entry as JSON, in bytes
	Fault *fault.Fault
}

// encode completes an entry with the attributes of a resource, if its type accepts them.
func (by binder) encode(e v1alpha1.CatalogEntry, r v1alpha1.Resource) *rendering {
	if !by.bindOnly {
		var err error
		if e.Attributes, err = catalog.Encode(r.GetAttributes()); err != nil {
			return &rendering{Fault: fault.New(v1alpha1.ReasonInvalidSpec, "cannot encode its attributes: %v", err)}
		}
	}
	bound, err := by.bind(e, r)
	if err != nil && by.stored != nil {
		e.Namevar = by.stored.Namevar
		return measured(e, nil)
	}
	if err != nil {
		return &rendering{Fault: fault.New(v1alpha1.ReasonInvalidSpec, "%v", err)}
	}
	e.Namevar = bound.Namevar()
	if by.bindOnly {
		return &rendering{Entry: e, Bound: bound}
	}
	return measured(e, bound)
}

func measured(e v1alpha1.CatalogEntry, bound resource.Resource) *rendering {
	hash, size := catalog.Measure(e)
	if size > maxCatalog {
		return &rendering{Fault: fault.New(v1alpha1.ReasonTooLarge, "it takes %d KiB, and a catalog has room for %d: let the host fetch so large a file",
			size>>10, maxCatalog>>10)}
	}
	return &rendering{Entry: e, Bound: bound, Hash: hash, Size: size}
}

func (by binder) bind(e v1alpha1.CatalogEntry, r v1alpha1.Resource, secrets ...resource.Secret) (resource.Resource, error) {
	kind, err := catalog.Kind(e.Kind, by.kinds)
	if err != nil {
		return nil, err
	}
	bound, err := kind.BindTyped(resource.Ref{Kind: e.Kind, Name: e.Name}, r.GetAttributes(), secrets...)
	if err == nil {
		err = kind.CheckProvider(e.Provider)
	}
	if err == nil {
		err = catalog.Item(withoutEdges(e), bound).Invalid
	}
	if err == nil && e.DeletionPolicy.Acts() {
		_, err = bound.DeleteAttributes()
	}
	return bound, err
}

// withoutEdges leaves edges to the validation of the graph, which explains them better.
func withoutEdges(e v1alpha1.CatalogEntry) v1alpha1.CatalogEntry {
	e.Edges = nil
	return e
}
