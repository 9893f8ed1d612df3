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
	made     map[string]*rendering  // by content: nodes often get the same
	results  *evaluations[rendered] // of the template
	complete *selection             // whose nodes all have results; nil for none
}

// rendered is what came of a template on nodes, or why nothing did.
type rendered struct {
	made *rendering
	err  error
}

// newOwn is what a template makes.
func newOwn(o *own) *own {
	o.results = &evaluations[rendered]{uses: o.template.Uses(), run: func(n *subject, time int) (rendered, int, error) {
		text, cost, err := o.template.Render(n.variables(), time)
		switch {
		case isCutOff(err):
			return rendered{}, cost.Time, err
		case err != nil:
			return rendered{err: err}, cost.Time, nil
		}
		return rendered{made: o.madeOf(text)}, cost.Time, nil
	}}
	return o
}

// readable reports whether the node has reported what the template reads.
func (o *own) readable(n *subject) bool { return !o.template.Uses().Facts() || n.reported() }

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
	if !o.readable(n) {
		return &rendering{fault: waiting(n)}
	}
	result := o.results.of(n)
	if err := result.err; err != nil {
		reason := v1alpha1.ReasonInvalidTemplate
		if errors.Is(err, expression.ErrTooLong) {
			reason = v1alpha1.ReasonTooLarge
		}
		return &rendering{fault: faultf(reason, "cannot render contentTemplate on node %s: %v", n.Name, err)}
	}
	return result.made
}

// madeOf is the entry of some content.
func (o *own) madeOf(text string) *rendering {
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
