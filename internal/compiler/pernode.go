package compiler

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/expression"
)

// A perNodeEntry makes entries that differ from node to node: with rendered content, or with sealed values.
type perNodeEntry struct {
	// Template is nil if values are sealed.
	Template *expression.Template
	// ID identifies the template and everything else that its entries are made from.
	ID string

	binder   binder
	entry    v1alpha1.CatalogEntry
	resource v1alpha1.Resource // of the template
	secrets  []secretOrigin    // instead of a template
	// written is the resource that has the template or the references to Secrets, with the values of ConfigMaps; nil if it has neither.
	written v1alpha1.Resource
}

func newTemplated(by binder, d *Draft, t *expression.Template, r, written v1alpha1.Resource) *perNodeEntry {
	source := *r.(v1alpha1.ContentSource).GetContentFrom().ContentTemplate
	if d.Bound != nil { // the type accepts everything but, perhaps, the content
		by.stored = nil
	}
	return &perNodeEntry{
		Template: t, ID: catalog.NameOf([]string{string(d.Ref), d.Hash, source}),
		binder: by, entry: d.Entry, resource: r, written: written,
	}
}

// withContent returns the entry with this content. It is bound only if it is applied at once: a fleet retains as many as it has nodes.
func (p *perNodeEntry) withContent(text string) *rendering {
	made := p.binder.encode(p.entry, withContent(p.resource, text))
	if !p.binder.bindOnly {
		made.Bound = nil
	}
	return made
}

// setVersions sets the versions of Secrets to stored ones.
func (p *perNodeEntry) setVersions(stored []v1alpha1.SealedValue) {
	for i, s := range p.secrets {
		for _, v := range stored {
			if v.Attribute == s.attribute {
				p.secrets[i].from.Version = v.From.Version
			}
		}
	}
}

// sealed returns the entry with its values sealed by a function, whose error it returns.
func (p *perNodeEntry) sealed(seal func(attribute string, from v1alpha1.SealedFrom) (v1alpha1.SealedValue, error)) (*rendering, error) {
	e := p.entry
	e.Sealed = make([]v1alpha1.SealedValue, len(p.secrets))
	for i, s := range p.secrets {
		var err error
		if e.Sealed[i], err = seal(s.attribute, s.from); err != nil {
			return nil, err
		}
	}
	return measured(e, nil), nil
}
