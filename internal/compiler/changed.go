package compiler

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Changed returns the resources that are not the same in two revisions, sorted: whose entry or targeting differs, also by the version of a
// Secret, or that only one of them has or has without a fault.
func Changed(a, b *Revision) []v1alpha1.ResourceRef {
	var all []v1alpha1.ResourceRef
	before, after := a.Drafts, b.Drafts
	for len(before)+len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].Ref < after[0].Ref:
			all, before = append(all, before[0].Ref), before[1:]
		case len(before) == 0 || after[0].Ref < before[0].Ref:
			all, after = append(all, after[0].Ref), after[1:]
		default:
			if !before[0].same(after[0]) {
				all = append(all, before[0].Ref)
			}
			before, after = before[1:], after[1:]
		}
	}
	return all
}

// same reports whether two drafts of a resource give every node the same.
func (d *Draft) same(o *Draft) bool {
	return d.key == o.key && d.Remote == o.Remote && d.Deleting == o.Deleting && d.content() == o.content()
}

// content identifies the entries of a draft, or what is known of one at fault. The message of a fault is left out.
func (d *Draft) content() string {
	text := d.Hash
	switch {
	case d.Fault != nil:
		text = strings.Join([]string{"fault", d.Fault.Reason, d.Location, d.Hash, fmt.Sprint(d.Edges)}, "\x00")
	case d.PerNode == nil:
	case d.PerNode.Template != nil:
		text = d.PerNode.ID
	default:
		for _, s := range d.PerNode.secrets {
			text += fmt.Sprintf("\x00%s %v", s.attribute, s.from)
		}
	}
	if d.acceptsSelfLabelled() {
		text += "\x00accepted"
	}
	return text
}
