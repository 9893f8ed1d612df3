package deselection

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/kubectl"
	"github.com/fettle-dev/fettle/internal/text"
)

// A Hold is the losses that a [Budget] does not allow. The zero value holds nothing.
type Hold struct {
	// Token confirms all of it, and no other hold; "" if nothing is held.
	Token string

	losses        []Loss                            // by node
	nodes         map[string][]v1alpha1.ResourceRef // what each would lose
	resources     map[v1alpha1.ResourceRef][]string // the nodes that would lose each
	recent, total int                               // nodes that lost resources recently, and nodes of the fleet
}

// newHold returns a hold of losses, which are sorted by node.
func newHold(losses []Loss, token string, recent, total int) Hold {
	h := Hold{Token: token, losses: losses, nodes: map[string][]v1alpha1.ResourceRef{}, resources: map[v1alpha1.ResourceRef][]string{}, recent: recent, total: total}
	for _, l := range losses {
		h.nodes[l.Node] = l.Refs
		for _, ref := range l.Refs {
			h.resources[ref] = append(h.resources[ref], l.Node)
		}
	}
	return h
}

// Nodes returns the number of nodes that are held.
func (h Hold) Nodes() int { return len(h.losses) }

// maxListed is the number of resources that a NodeCatalog names.
const maxListed = 10

// Mark returns what the NodeCatalog of a held node says of it, apart from the time; nil if the node is not held.
func (h Hold) Mark(node string) *v1alpha1.Held {
	refs := slices.Sorted(slices.Values(h.nodes[node]))
	if len(refs) == 0 {
		return nil
	}
	n := min(len(refs), maxListed)
	return &v1alpha1.Held{Resources: refs[:n], Omitted: int32(len(refs) - n)}
}

// Problem returns the problem of a resource that held nodes would lose.
func (h Hold) Problem(ref v1alpha1.ResourceRef) (p compiler.Problem, held bool) {
	nodes := h.resources[ref]
	return compiler.Problem{Ref: ref, Reason: v1alpha1.ReasonDeselectionHeld, Message: fmt.Sprintf(
		"%d of %s would be deselected because %s", len(nodes), text.Count(h.total, "node"), h.explain(nodes))}, len(nodes) > 0
}

// Status describes the hold in the status of the Fleet; nil if nothing is held.
func (h Hold) Status() *v1alpha1.HeldDeselection {
	if h.Token == "" {
		return nil
	}
	var nodes []string
	for _, l := range h.losses {
		nodes = append(nodes, l.Node)
	}
	return &v1alpha1.HeldDeselection{
		Token: h.Token, Nodes: int32(len(nodes)), Resources: int32(len(h.resources)),
		Message: fmt.Sprintf("%d of %s would lose %s because %s",
			len(nodes), text.Count(h.total, "node"), text.Count(len(h.resources), "resource"), h.explain(nodes)),
	}
}

// maxNames bounds the names of nodes in a message, in bytes: the Fleet's message has at most 1024.
const maxNames = 512

// explain names nodes, and the command that confirms the whole hold.
func (h Hold) explain(nodes []string) string {
	earlier := ""
	if h.recent > 0 {
		earlier = fmt.Sprintf("; %s lost resources in the last %.0f minutes", text.Count(h.recent, "node"), Period.Minutes())
	}
	return fmt.Sprintf("their labels, annotations or facts changed: %s%s. Their updates are held until this is reverted or confirmed. To confirm all that is held (%s, %s): %s",
		text.Clip(text.List(nodes), maxNames), earlier, text.Count(len(h.losses), "node"), text.Count(len(h.resources), "resource"), Confirm(h.Token))
}

// Confirm returns the command that confirms the hold with a token.
func Confirm(token string) string {
	return kubectl.AnnotateFleet(v1alpha1.AnnotationConfirmDeselection, token) + " --overwrite"
}

// token names losses, which are sorted by node, in the present state of their nodes. It is the same for a manager that
// starts, and another one when the same nodes lose the resources again.
func token(losses []Loss, uid func(v1alpha1.ResourceRef) types.UID) string {
	h := sha256.New()
	for _, l := range losses {
		line := []string{"", l.Node, l.State}
		for _, ref := range slices.Sorted(slices.Values(l.Refs)) {
			line = append(line, string(ref), string(uid(ref)))
		}
		_, _ = io.WriteString(h, strings.Join(line, "\n")) // a hash accepts every write
	}
	return hex.EncodeToString(h.Sum(nil))[:8]
}
