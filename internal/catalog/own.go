package catalog

import (
	"errors"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/expression"
	"github.com/fettle-dev/fettle/internal/resource"
)

// own makes what differs from node to node: the entries of one template, or what is
// sealed.
type own struct {
	by       drafting
	template *expression.Template
	secrets  []secretOrigin    // in place of a template: what is sealed for each node
	resource v1alpha1.Resource // a copy that is ours to set the content of
	entry    v1alpha1.CatalogEntry
	made     map[string]*rendering // by content: nodes often get the same
}

// maxMade is how many contents of one template are remembered. Where nearly every node has
// a content of its own, remembering saves nothing.
const maxMade = 64

// A rendering is an entry of one content, or why there is none.
type rendering struct {
	entry v1alpha1.CatalogEntry
	bound resource.Resource
	hash  string
	size  int // as JSON, in bytes
	fault *fault
}

func (o *own) render(n *subject) *rendering {
	if len(o.secrets) > 0 {
		return o.sealFor(n)
	}
	if o.template.Uses().Facts() && !n.reported() {
		return &rendering{fault: waiting(n)}
	}
	text, _, err := o.template.Render(n.variables())
	if err != nil {
		reason := v1alpha1.ReasonInvalidTemplate
		if errors.Is(err, expression.ErrTooLong) {
			reason = v1alpha1.ReasonTooLarge
		}
		return &rendering{fault: faultf(reason, "cannot render contentTemplate on node %s: %v", n.Name, err)}
	}
	if o.made[text] == nil {
		if o.made == nil || len(o.made) >= maxMade {
			o.made = map[string]*rendering{}
		}
		o.made[text] = o.make(text)
	}
	return o.made[text]
}

func (o *own) make(content string) *rendering {
	setContent(o.resource, content)
	entry, bound, f := o.by.encode(o.entry, o.resource)
	if f != nil {
		return &rendering{fault: f}
	}
	if o.by.applied {
		return &rendering{entry: entry, bound: bound}
	}
	return measured(entry, bound)
}

// measured is a rendering of an entry that a Catalog may have to have room for.
func measured(e v1alpha1.CatalogEntry, bound resource.Resource) *rendering {
	hash, size := measure(e, e.Attributes.Raw)
	if size > maxCatalog {
		return &rendering{fault: tooLarge(size)}
	}
	return &rendering{entry: e, bound: bound, hash: hash, size: size}
}

func waiting(n *subject) *fault {
	return faultf(v1alpha1.ReasonWaitingForFacts, "waits for the facts of node %s, which its agent has yet to report", n.Name)
}
