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
	resource v1alpha1.Resource     // of the template
	rendered map[string]*rendering // by content, because many nodes get the same
	secrets  []secretOrigin        // instead of a template
}

func newTemplated(by binder, d *Draft, t *expression.Template, r v1alpha1.Resource) *perNodeEntry {
	source := *r.(v1alpha1.ContentSource).GetContentFrom().ContentTemplate
	return &perNodeEntry{
		Template: t, ID: catalog.NameOf([]string{string(d.Ref), d.Hash, source}),
		binder: by, entry: d.Entry, resource: r, rendered: map[string]*rendering{},
	}
}

// withContent returns the entry with this content. It is not safe for concurrent use.
func (p *perNodeEntry) withContent(text string) *rendering {
	if p.rendered[text] == nil {
		p.rendered[text] = p.binder.encode(p.entry, withContent(p.resource, text))
	}
	return p.rendered[text]
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
