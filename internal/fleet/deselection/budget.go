// Package deselection limits how many nodes lose resources because the nodes changed.
//
// A label that is edited by mistake, or facts that change with an upgrade, would remove
// resources from many hosts although nobody touched a resource. A [Budget] holds such updates
// until someone confirms or reverts them. Deselection that an author asks for is not limited;
// [Edits] tell the two apart.
package deselection

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/kubectl"
	"github.com/fettle-dev/fettle/internal/text"
)

// DefaultMaxPercent is the share of nodes that may lose resources within Period.
const DefaultMaxPercent = 20

// Period is how long a node counts that lost a resource. It counts once in quarantine, so that a node
// that loses resources again and again, as a lying one may, delays the others for one Period only.
const Period, quarantine = 10 * time.Minute, time.Hour

// A Loss is the resources that one node is about to lose because it changed.
type Loss struct {
	Node string
	// State identifies the spec that the node has, and differs each time that is written.
	State string
	Refs  []v1alpha1.ResourceRef
}

// A Fleet is what a budget depends on.
type Fleet struct {
	Now        time.Time
	Nodes      int // that have a NodeCatalog
	MaxPercent int // of them that may lose resources; one node always may
	// UID returns that of a resource, and Confirmation the value of its
	// confirm-deselection annotation, "" for none.
	UID          func(v1alpha1.ResourceRef) types.UID
	Confirmation func(v1alpha1.ResourceRef) string
}

// A Budget remembers when nodes first lost a resource. The zero value remembers none. It is not safe for concurrent
// use.
type Budget struct {
	first     map[string]time.Time              // by node, within quarantine
	confirmed map[string][]v1alpha1.ResourceRef // by node, until it has lost them
}

// Decide returns the nodes whose update is held, and a problem for each resource that they would
// lose. It takes the other losses as done. A node is held until all that it would lose is
// confirmed, or until few enough nodes are left.
func (b *Budget) Decide(losses []Loss, f Fleet) (held map[string]bool, problems map[v1alpha1.ResourceRef]compiler.Problem) {
	byRef := byResource(losses)
	tokens := map[v1alpha1.ResourceRef]string{}
	for ref, of := range byRef {
		tokens[ref] = token(f.UID(ref), of)
	}
	losses = b.unconfirmed(losses, func(ref v1alpha1.ResourceRef) bool { return f.Confirmation(ref) == tokens[ref] })
	maps.DeleteFunc(b.first, func(_ string, at time.Time) bool { return f.Now.Sub(at) >= quarantine })
	first := map[string]time.Time{} // if nothing is held
	for _, l := range losses {
		first[l.Node] = f.Now
	}
	maps.Copy(first, b.first)
	affected, recent := countRecent(first, f.Now), countRecent(b.first, f.Now)
	if affected <= 1 || affected*100 <= f.Nodes*f.MaxPercent {
		b.first = first
		return nil, nil
	}
	held, problems = map[string]bool{}, map[v1alpha1.ResourceRef]compiler.Problem{}
	for _, l := range losses {
		held[l.Node] = true
	}
	for ref, of := range byResource(losses) {
		problems[ref] = problem(ref, of, tokens[ref], recent, f.Nodes)
	}
	return held, problems
}

// Next returns the time until recent losses expire, so that nodes that are held may proceed; 0
// if there are none.
func (b *Budget) Next(now time.Time) time.Duration {
	for _, at := range slices.SortedFunc(maps.Values(b.first), time.Time.Compare) {
		if left := at.Add(Period).Sub(now); left > 0 {
			return left
		}
	}
	return 0
}

// unconfirmed returns the losses that nobody has confirmed. A confirmation stays in effect for
// each of its nodes until that has lost the resource: writes may fail.
func (b *Budget) unconfirmed(losses []Loss, confirmed func(v1alpha1.ResourceRef) bool) (left []Loss) {
	before := b.confirmed
	b.confirmed = map[string][]v1alpha1.ResourceRef{}
	for _, l := range losses {
		var refs []v1alpha1.ResourceRef
		for _, ref := range l.Refs {
			if confirmed(ref) || slices.Contains(before[l.Node], ref) {
				b.confirmed[l.Node] = append(b.confirmed[l.Node], ref)
			} else {
				refs = append(refs, ref)
			}
		}
		if len(refs) > 0 {
			left = append(left, Loss{l.Node, l.State, refs})
		}
	}
	return left
}

// countRecent counts the nodes that first lost a resource within Period.
func countRecent(first map[string]time.Time, now time.Time) (n int) {
	for _, at := range first {
		if now.Sub(at) < Period {
			n++
		}
	}
	return n
}

// byResource groups losses by resource, in the order of nodes.
func byResource(losses []Loss) map[v1alpha1.ResourceRef][]Loss {
	all := map[v1alpha1.ResourceRef][]Loss{}
	for _, l := range losses {
		for _, ref := range l.Refs {
			all[ref] = append(all[ref], l)
		}
	}
	for _, of := range all {
		slices.SortFunc(of, func(a, b Loss) int { return cmp.Compare(a.Node, b.Node) })
	}
	return all
}

// token names the loss of a resource by these nodes in their present state. It is the same for a
// manager that starts, and another one when the same nodes lose the resource again.
func token(resource types.UID, of []Loss) string {
	h := sha256.New()
	_, _ = io.WriteString(h, string(resource)) // a hash accepts every write
	for _, l := range of {
		_, _ = io.WriteString(h, strings.Join([]string{"", l.Node, l.State}, "\n"))
	}
	return hex.EncodeToString(h.Sum(nil))[:8]
}

func problem(ref v1alpha1.ResourceRef, of []Loss, token string, recent, nodes int) compiler.Problem {
	var names []string
	for _, l := range of {
		names = append(names, l.Node)
	}
	earlier := ""
	if recent > 0 {
		earlier = fmt.Sprintf("; %s lost resources in the last %.0f minutes", text.Count(recent, "node"), Period.Minutes())
	}
	return compiler.Problem{Ref: ref, Reason: v1alpha1.ReasonDeselectionHeld, Message: fmt.Sprintf(
		"%d of %s would be deselected because their labels, annotations or facts changed: %s%s. Their updates are held until this is reverted or confirmed. To confirm: %s --overwrite",
		len(of), text.Count(nodes, "node"), text.List(names), earlier,
		kubectl.Annotate(ref, v1alpha1.AnnotationConfirmDeselection, token))}
}
