package compiler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Restore returns a stored revision. It uses only Kinds of the input: entries are bound to the kinds of now, and used as they
// are if these reject them or are gone, whatever Refused and External have. Secrets have the versions that are stored, whether they exist or
// not: see [Input.Seal]. What is at fault in the stored revision stays so. The error names what is missing, or has another content than its name stands for.
func (c *Compiler) Restore(name string, from Source, in Input) (*Revision, error) {
	targets, err := from.targets(name)
	if err != nil {
		return nil, fmt.Errorf("cannot restore CatalogRevision %s: %w", name, err)
	}
	rs := restorer{binder: binder{kinds: in.Kinds}, compiler: c, in: in, faults: map[v1alpha1.ResourceRef]v1alpha1.RevisionFault{}}
	for _, t := range targets {
		for _, f := range t.Faulty {
			rs.faults[f.Ref] = f
		}
	}
	for _, t := range targets {
		if err := rs.addEntries(t, from); err != nil {
			return nil, fmt.Errorf("cannot restore CatalogRevision %s: %w", name, err)
		}
	}
	kept, err := from.definitions(name)
	if err != nil {
		return nil, fmt.Errorf("cannot restore CatalogRevision %s: %w", name, err)
	}
	for _, t := range targets {
		rs.addUnknown(t)
	}
	slices.SortFunc(rs.drafts, compareRefs)
	r := assemble(rs.drafts, c.selection)
	r.definitions = kept
	r.relateRemote()
	r.pack()
	return r, nil
}

func compareRefs(a, b *Draft) int { return strings.Compare(string(a.Ref), string(b.Ref)) }

// A restorer makes drafts of what is stored.
type restorer struct {
	binder
	compiler *Compiler
	in       Input
	faults   map[v1alpha1.ResourceRef]v1alpha1.RevisionFault // without those that a draft has
	drafts   []*Draft
}

// addEntries adds the drafts of the entries of a target.
func (rs *restorer) addEntries(t v1alpha1.RevisionTarget, from Source) error {
	shared, err := from.entries(t.Catalogs)
	if err != nil {
		return err
	}
	written, err := from.entries(t.Sources)
	if err != nil {
		return err
	}
	selects := targetingOf(t)
	for _, is := range shared {
		rs.add(&Draft{rendering: is, targeting: selects}, t)
	}
	for _, is := range written {
		rs.add(rs.redraft(is.Entry, t), t)
	}
	return nil
}

// addUnknown adds the drafts of the resources at fault whose entries are not known.
func (rs *restorer) addUnknown(t v1alpha1.RevisionTarget) {
	for _, f := range t.Faulty {
		if _, left := rs.faults[f.Ref]; left {
			kind, name, _ := strings.Cut(string(f.Ref), "/")
			rs.add(&Draft{rendering: rendering{Entry: v1alpha1.CatalogEntry{Kind: kind, Name: name, Edges: f.Edges}}, targeting: targetingOf(t)}, t)
		}
	}
}

// add completes a draft.
func (rs *restorer) add(d *Draft, t v1alpha1.RevisionTarget) {
	d.Ref, d.Remote, d.Deleting, d.Edges = d.Entry.Ref(), t.Remote, t.Deleting, rs.edgesOf(d.Entry.Edges)
	if d.Hash != "" && d.Identity == "" {
		d.Bound = rs.bound(d.Entry)
		d.identify()
	}
	if f, ok := rs.faults[d.Ref]; ok {
		d.Fault, d.Location = &fault.Fault{Reason: f.Reason, Message: f.Message}, f.Location
		delete(rs.faults, d.Ref)
	}
	if d.Remote && d.Fault == nil && d.PerNode == nil {
		d.PerNode = &perNodeEntry{entry: d.Entry}
	}
	rs.drafts = append(rs.drafts, d)
}

// bound returns an entry as its type binds it now, nil if that rejects it or is gone.
func (by binder) bound(e v1alpha1.CatalogEntry) resource.Resource {
	kind, err := catalog.Kind(e.Kind, by.kinds)
	if err != nil {
		return nil
	}
	var raw json.RawMessage
	if e.Attributes != nil {
		raw = e.Attributes.Raw
	}
	bound, err := kind.Bind(resource.Ref{Kind: e.Kind, Name: e.Name}, raw)
	if err != nil {
		return nil
	}
	return bound
}

// redraft drafts a resource again whose entries differ from node to node.
func (rs *restorer) redraft(e v1alpha1.CatalogEntry, t v1alpha1.RevisionTarget) *Draft {
	r, err := resourceOf(e, t)
	if err != nil {
		return &Draft{
			rendering: rendering{Entry: e, Fault: fault.New(v1alpha1.ReasonInvalidSpec, "cannot read what is stored of it: %v", err)},
			targeting: targetingOf(t),
		}
	}
	by := drafter{
		binder: binder{kinds: rs.kinds, stored: &e}, Env: &rs.compiler.env,
		Input: Input{
			External: map[string]ExternalKind{e.Kind: {Type: e.Type, Remote: t.Remote}},
			Unread:   map[v1alpha1.ResourceRef]bool{e.Ref(): true},
		},
	}
	d := by.draft(r)
	if d.PerNode != nil {
		d.PerNode.setVersions(e.Sealed)
	}
	return d
}

// targetingOf returns the part of a targeting that selects nodes.
func targetingOf(t v1alpha1.RevisionTarget) *v1alpha1.Targeting {
	return &v1alpha1.Targeting{NodeSelector: t.NodeSelector, When: t.When, AcceptSelfLabelledNodes: t.AcceptSelfLabelledNodes}
}

// resourceOf returns the resource of an entry that has its attributes as they are written.
func resourceOf(e v1alpha1.CatalogEntry, t v1alpha1.RevisionTarget) (v1alpha1.Resource, error) {
	r := v1alpha1.NamedResource(e.Kind, e.Name)
	d := json.NewDecoder(bytes.NewReader(fmt.Appendf(nil, `{"spec":%s}`, e.Attributes.Raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, err
	}
	is := targetingOf(t)
	is.Noop, is.Provider, is.Audit, is.Schedule = e.Noop, e.Provider, e.Audit, e.Schedule
	is.LogLevel, is.DeletionPolicy = e.LogLevel, e.DeletionPolicy
	if e.Edges != nil {
		is.Edges = *e.Edges
	}
	*r.GetTargeting() = *is
	if t.Deleting {
		r.SetDeletionTimestamp(&metav1.Time{})
	}
	return r, nil
}
