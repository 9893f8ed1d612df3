package compiler

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
)

// Stored is a revision as the cluster has it.
type Stored struct {
	Name string
	// Revisions are the CatalogRevision of this name and its parts. Create the parts first.
	Revisions []*v1alpha1.CatalogRevision
	// Catalogs has everything that they refer to, by name, but for the definitions of types that only a restored revision has: the cluster
	// has those.
	Catalogs map[string]*v1alpha1.Catalog
}

// Store returns the revision as the cluster has it. The name is that of its content: neither the order of the input nor the nodes
// make a difference. The version of a Secret does, so that another value is rolled out, but no value is stored.
func (r *Revision) Store() Stored {
	s := Stored{Catalogs: map[string]*v1alpha1.Catalog{}}
	var targets []storedTarget
	for _, g := range r.storageGroups() {
		targets = append(targets, g.store(s.Catalogs)...)
	}
	types := r.types()
	for _, t := range types {
		if c := r.definitions[t.Type].content; c != nil {
			s.Catalogs[t.Catalog] = c
		}
	}
	s.Revisions = splitRevision(targets, types)
	s.Name = s.Revisions[0].Name
	return s
}

// A storageGroup is drafts that are stored in one RevisionTarget, unless it is too large.
type storageGroup struct {
	target v1alpha1.RevisionTarget // without its resources
	drafts []*Draft
}

// storageGroups divides the drafts by their targeting, in the order of the revision.
func (r *Revision) storageGroups() []*storageGroup {
	type key struct {
		targeting                string
		accept, remote, deleting bool
	}
	var all []*storageGroup
	groups := map[key]*storageGroup{}
	for _, d := range r.Drafts {
		k := key{d.key, d.acceptsSelfLabelled(), d.Remote, d.Deleting}
		if groups[k] == nil {
			groups[k] = &storageGroup{target: v1alpha1.RevisionTarget{
				NodeSelector: d.targeting.NodeSelector, When: d.targeting.When,
				AcceptSelfLabelledNodes: k.accept, Remote: k.remote, Deleting: k.deleting,
			}}
			all = append(all, groups[k])
		}
		groups[k].drafts = append(groups[k].drafts, d)
	}
	return all
}

// acceptsSelfLabelled reports whether a Secret may be sent to nodes that can have themselves selected. It makes no difference to
// resources without Secrets.
func (d *Draft) acceptsSelfLabelled() bool {
	return d.targeting.AcceptSelfLabelledNodes && d.PerNode != nil && len(d.PerNode.secrets) > 0
}

// store returns the targets of the group, and adds their catalogs.
func (g *storageGroup) store(catalogs map[string]*v1alpha1.Catalog) []storedTarget {
	var shared, known, written []*rendering
	var faults []v1alpha1.RevisionFault
	for _, d := range g.drafts {
		switch {
		case d.Hash == "":
		case d.PerNode != nil && d.PerNode.written != nil:
			written = append(written, d.PerNode.source())
		case d.Fault != nil:
			known = append(known, &d.rendering)
		default:
			shared = append(shared, &d.rendering)
		}
		if d.Fault != nil {
			faults = append(faults, d.storedFault())
		}
	}
	add := func(entries []*rendering) []v1alpha1.CatalogRef {
		packed := packCatalogs(entries)
		for _, c := range packed {
			catalogs[c.Name] = c
		}
		return refsOf(packed)
	}
	t := g.target
	// Nodes have catalogs without the entries at fault, so these are in others.
	t.Catalogs, t.Sources = append(add(shared), add(known)...), add(written)
	return splitTarget(t, len(g.drafts), faults)
}

// source returns the entry with the attributes as they are written, instead of those of a node, and with the versions of Secrets.
func (p *perNodeEntry) source() *rendering {
	e := p.entry
	e.Attributes = writtenAttributes(p.written)
	for _, s := range p.secrets {
		e.Sealed = append(e.Sealed, v1alpha1.SealedValue{Attribute: s.attribute, From: s.from})
	}
	hash, size := catalog.Measure(e)
	return &rendering{Entry: e, Hash: hash, Size: size}
}

// writtenAttributes returns the spec of a resource without its targeting, and without the references to ConfigMaps, whose values it has.
func writtenAttributes(r v1alpha1.Resource) *runtime.RawExtension {
	r = r.DeepCopyObject().(v1alpha1.Resource)
	*r.GetTargeting(), *r.GetStatus() = v1alpha1.Targeting{}, v1alpha1.ResourceStatus{}
	var object struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}
	if raw, err := json.Marshal(r); err == nil { // types of the API encode
		_ = json.Unmarshal(raw, &object)
	}
	delete(object.Spec, "nodeSelector")
	for _, v := range v1alpha1.ValueReferencesOf(r) {
		if fromConfigMap(v) {
			delete(object.Spec, v.Field)
		}
	}
	encoded, _ := catalog.Encode(object.Spec)
	return encoded
}

// storedFault returns the fault of the draft. Edges are in the entry, if that is known.
func (d *Draft) storedFault() v1alpha1.RevisionFault {
	f := v1alpha1.RevisionFault{Withheld: v1alpha1.Withheld{Ref: d.Ref, Reason: d.Fault.Reason, Message: d.Fault.Message, Location: d.Location}}
	if d.Hash == "" && len(d.Edges) > 0 {
		f.Edges = d.Entry.Edges
	}
	return f
}
