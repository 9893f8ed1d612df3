package compiler

import (
	"errors"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/expression"
)

// A perNode makes entries that differ from node to node: with rendered content, or with sealed values.
type perNode struct {
	drafter
	entry    v1alpha1.CatalogEntry
	template *expression.Template
	id       string                // of the template and everything else that its entries are made from
	resource v1alpha1.Resource     // of the template
	rendered map[string]*rendering // by content, because many nodes get the same
	secrets  []secretOrigin        // instead of a template
}

// newTemplated is for content that is rendered for each node.
func newTemplated(by drafter, d *draft, t *expression.Template, r v1alpha1.Resource) *perNode {
	source := *r.(v1alpha1.ContentSource).GetContentFrom().ContentTemplate
	return &perNode{
		drafter: by.withoutSecrets(), entry: d.entry, template: t, resource: r, rendered: map[string]*rendering{},
		id: catalog.NameOf([]string{string(d.ref), d.hash, source}),
	}
}

// canRender reports whether the node has reported what the template reads.
func (p *perNode) canRender(n *evalContext) bool {
	return !p.template.ReadsFacts() || n.hasFacts()
}

func (p *perNode) evaluate(n *evalContext, limit int) (cost int, ok bool) {
	result, known := n.templates.get(p.id)
	if !known {
		var text string
		text, result.cost, result.err = p.template.Render(n.variables(), limit)
		if errors.Is(result.err, expression.ErrCutOff) {
			return 0, false
		}
		if result.err == nil {
			result.made = p.withContent(text)
		}
		n.templates.put(p.id, result)
	}
	return result.cost, true
}

func (p *perNode) withContent(text string) *rendering {
	if p.rendered[text] == nil {
		p.rendered[text] = p.encode(p.entry, withContent(p.resource, text))
	}
	return p.rendered[text]
}

// entryFor returns the node's entry, once templates were evaluated.
func (p *perNode) entryFor(n *evalContext, seal Sealer) *rendering {
	if len(p.secrets) > 0 {
		return p.sealFor(n, seal)
	}
	if !p.canRender(n) {
		return &rendering{fault: waitingForFacts(n)}
	}
	result, _ := n.templates.get(p.id)
	if result.err == nil {
		return result.made
	}
	reason := v1alpha1.ReasonInvalidTemplate
	if errors.Is(result.err, expression.ErrTooLong) {
		reason = v1alpha1.ReasonTooLarge
	}
	return &rendering{fault: faultf(reason, "cannot render contentTemplate on node %s: %v", n.Name, result.err)}
}

// sealFor returns the entry with its values sealed for a node.
func (p *perNode) sealFor(n *evalContext, seal Sealer) *rendering {
	if n.PublicKey == "" {
		return &rendering{fault: faultf(v1alpha1.ReasonWaitingForKey, "waits for the key of node %s, which its agent has not published yet", n.Name)}
	}
	e := p.entry
	e.Sealed = make([]v1alpha1.SealedValue, len(p.secrets))
	for i, s := range p.secrets {
		var err error
		if e.Sealed[i], err = seal(&n.Node, e.Ref(), s.attribute, s.from); err != nil {
			return &rendering{fault: faultf(v1alpha1.ReasonWaitingForKey, "waits for another key of node %s: %v", n.Name, err)}
		}
	}
	return measured(e, nil)
}
