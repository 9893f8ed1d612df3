package controllers

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
)

// DefaultMaxDeselection is the share of nodes, in percent, that may lose resources within
// ten minutes because they changed themselves.
const DefaultMaxDeselection = 20

// lately is how long a node counts that lost something.
const lately = 10 * time.Minute

// A loss is what one node is about to lose because it changed, and not the resources.
type loss struct {
	node string
	at   string // another one whenever the node was told something in between
	refs []v1alpha1.ResourceRef
}

// A fleetView is what a hold goes by.
type fleetView struct {
	now     time.Time
	nodes   int // that have a NodeCatalog
	percent int // of them that may lose something
	// resources that there are, and the words that they are confirmed with.
	resources map[v1alpha1.ResourceRef]types.UID
	confirmed map[v1alpha1.ResourceRef]string
	// has reports whether a node there is is to have a resource.
	has func(node string, ref v1alpha1.ResourceRef) bool
}

// A hold keeps nodes from losing resources where many would at once. The zero value has seen
// none.
type hold struct {
	lost     map[string]parting // by node: who lost something lately
	released map[string][]v1alpha1.ResourceRef
	held     map[string]loss // by node
	problems map[v1alpha1.ResourceRef]compiler.Problem
	unrest   map[string][]occasion // by node: when it lost something within the last hour
}

// An occasion is when a node lost something, and at which state of its NodeCatalog.
type occasion struct {
	when time.Time
	at   string
}

// A parting is what a node lost, and when it last did.
type parting struct {
	at   time.Time
	refs []v1alpha1.ResourceRef
}

// judge decides which of the losses are held; the others it takes for done.
func (h *hold) judge(losses []loss, v fleetView) {
	h.forget(losses, v)
	losses = h.unreleased(losses)
	words := wordsFor(losses, v.resources)
	confirmed := func(ref v1alpha1.ResourceRef) bool { return words[ref] != "" && v.confirmed[ref] == words[ref] }
	for _, l := range losses {
		for _, ref := range l.refs {
			if confirmed(ref) {
				h.release(l.node, ref)
			}
		}
	}
	for node, p := range h.lost {
		h.keepLost(node, p.at, slices.DeleteFunc(p.refs, confirmed))
	}
	losses = h.unreleased(losses)
	h.held, h.problems = map[string]loss{}, map[v1alpha1.ResourceRef]compiler.Problem{}
	if !tooMany(h.counted(losses), v) {
		for _, l := range losses {
			h.noteUnrest(l, v.now)
			h.keepLost(l.node, v.now, append(h.lost[l.node].refs, l.refs...))
		}
		return
	}
	for _, l := range losses {
		h.held[l.node] = l
	}
	h.explain(losses, words, v)
}

// tooMany reports whether so many nodes are more than may lose something: one always may.
func tooMany(n int, v fleetView) bool { return n > 1 && n*100 > v.nodes*v.percent }

// counted is the number of nodes that lost something lately or are about to. A node that
// loses things again and again says nothing of the others, and would hold them up for as long
// as it does so: the most restless one doesn't count. All others do, be they restless or not,
// so that no sequence of changes takes more from a fleet than one node's resources above its
// budget.
func (h *hold) counted(losses []loss) int {
	nodes := map[string]bool{}
	for node := range h.lost {
		nodes[node] = true
	}
	for _, l := range losses {
		nodes[l.node] = true
	}
	delete(nodes, h.mostRestless())
	return len(nodes)
}

// restless is how often a node loses something within an hour to be left out of the count
// that others are held by.
const restless = 2

// mostRestless is the node that lost something most often; "" where none is restless.
func (h *hold) mostRestless() (node string) {
	for _, name := range slices.Sorted(maps.Keys(h.unrest)) {
		if n := len(h.unrest[name]); n >= restless && n > len(h.unrest[node]) {
			node = name
		}
	}
	return node
}

func (h *hold) noteUnrest(l loss, now time.Time) {
	const enough = 20 // to tell which is worse
	all := h.unrest[l.node]
	if n := len(all); n > 0 && all[n-1].at == l.at || n >= enough {
		return // it could not be written, and is tried again
	}
	h.unrest[l.node] = append(all, occasion{now, l.at})
}

// forget drops what is long ago, undone, or of no interest any more.
func (h *hold) forget(losses []loss, v fleetView) {
	if h.lost == nil {
		h.lost, h.released, h.unrest = map[string]parting{}, map[string][]v1alpha1.ResourceRef{}, map[string][]occasion{}
	}
	for node, all := range h.unrest {
		h.unrest[node] = slices.DeleteFunc(all, func(o occasion) bool { return v.now.Sub(o.when) >= time.Hour })
		if len(h.unrest[node]) == 0 {
			delete(h.unrest, node)
		}
	}
	open := make(map[string][]v1alpha1.ResourceRef, len(losses))
	for _, l := range losses {
		open[l.node] = l.refs
	}
	for node, p := range h.lost {
		h.keepLost(node, p.at, slices.DeleteFunc(p.refs, func(ref v1alpha1.ResourceRef) bool {
			_, exists := v.resources[ref]
			return !exists || v.now.Sub(p.at) >= lately || v.has(node, ref)
		}))
	}
	for node, refs := range h.released {
		refs = slices.DeleteFunc(refs, func(ref v1alpha1.ResourceRef) bool { return !slices.Contains(open[node], ref) })
		if h.released[node] = refs; len(refs) == 0 {
			delete(h.released, node)
		}
	}
}

func (h *hold) keepLost(node string, at time.Time, refs []v1alpha1.ResourceRef) {
	slices.Sort(refs)
	h.lost[node] = parting{at, slices.Compact(refs)}
	if len(refs) == 0 {
		delete(h.lost, node)
	}
}

func (h *hold) release(node string, ref v1alpha1.ResourceRef) {
	h.released[node] = append(h.released[node], ref)
}

// unreleased are the losses that nobody has confirmed.
func (h *hold) unreleased(losses []loss) []loss {
	var left []loss
	for _, l := range losses {
		refs := slices.DeleteFunc(slices.Clone(l.refs), func(ref v1alpha1.ResourceRef) bool { return slices.Contains(h.released[l.node], ref) })
		if len(refs) > 0 {
			left = append(left, loss{l.node, l.at, refs})
		}
	}
	return left
}

// explain says of each resource that is held why, and how to let go of it.
func (h *hold) explain(losses []loss, words map[v1alpha1.ResourceRef]string, v fleetView) {
	for ref, of := range byResource(losses) {
		var names []string
		for _, l := range of[:min(len(of), namedNodes)] {
			names = append(names, l.node)
		}
		earlier := ""
		if n := len(h.lost); n > 0 {
			earlier = fmt.Sprintf(", after %s something in the last %.0f minutes", countOf(n, "node lost", "nodes lost"), lately.Minutes())
		}
		h.problems[ref] = compiler.Problem{Ref: ref, Reason: v1alpha1.ReasonDeselectionHeld, Message: fmt.Sprintf(
			"%d of %s would lose it because their labels, annotations or facts changed%s: %s. They keep all that they have until that is undone or confirmed. To confirm it: %s --overwrite",
			len(of), countOf(v.nodes, "node", "nodes"), earlier, listed(names, len(of)),
			annotate(ref, v1alpha1.AnnotationConfirmDeselection, words[ref]))}
	}
}

// next is when, after now, fewer nodes will count, and some that are held may go on; 0 for
// never.
func (h *hold) next(now time.Time) time.Duration {
	var next later
	if len(h.held) > 0 {
		for _, p := range h.lost {
			next.in(max(p.at.Add(lately).Sub(now), 1))
		}
	}
	return next.wait
}

// byResource are losses by what is lost, in the order of nodes.
func byResource(losses []loss) map[v1alpha1.ResourceRef][]loss {
	all := map[v1alpha1.ResourceRef][]loss{}
	for _, l := range losses {
		for _, ref := range l.refs {
			all[ref] = append(all[ref], l)
		}
	}
	for _, of := range all {
		slices.SortFunc(of, func(a, b loss) int { return cmp.Compare(a.node, b.node) })
	}
	return all
}

// wordsFor are the words that confirm what is lost, by resource.
func wordsFor(losses []loss, resources map[v1alpha1.ResourceRef]types.UID) map[v1alpha1.ResourceRef]string {
	words := map[v1alpha1.ResourceRef]string{}
	for ref, of := range byResource(losses) {
		words[ref] = word(string(resources[ref]), of)
	}
	return words
}

// word is a short name of the nodes that would lose a resource, as they are now: it
// confirms no other loss, and not the same one again after it was undone.
func word(resource string, of []loss) string {
	h := sha256.New()
	_, _ = io.WriteString(h, resource) // a hash accepts every write
	for _, l := range of {
		_, _ = io.WriteString(h, strings.Join([]string{"", l.node, l.at}, "\n"))
	}
	return hex.EncodeToString(h.Sum(nil))[:8]
}

// holds reports whether a node is kept from what it should be.
func (h *hold) holds(node string) bool {
	_, held := h.held[node]
	return held
}

// nodes that are held.
func (h *hold) nodes() []string { return slices.Sorted(maps.Keys(h.held)) }
