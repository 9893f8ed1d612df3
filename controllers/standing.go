package controllers

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
)

// standings are how resources are on nodes, kept sparsely: a node is one way with all
// that selects it, but for exceptions. What a fleet in sync costs is a line a node.
type standings struct {
	nodes      map[string]*standing
	exceptions map[v1alpha1.ResourceRef]map[string]state // by resource, then node
}

// A standing is how resources are on one node.
type standing struct {
	of         origin
	rest       state // of all that are no exception
	exceptions map[v1alpha1.ResourceRef]state
}

// An origin is what a standing was made from. Equal ones make the same.
type origin struct {
	result  *compiler.NodeResult
	version string // of the NodeCatalog; "" for none
	all     bool   // of its progress
	held    bool   // of its progress
	refused string // of its progress
	changes int    // of its progress
	silent  bool
}

// A state is how a resource is on a node, and what there is to say about that.
type state struct {
	v1alpha1.ResourceState
	message   string
	unapplied bool // of a node that is unknown: it had yet to apply it, or did not succeed
}

// What is said of nodes in more than one place.
const (
	silence     = "nothing was heard of the node's agent for longer than its Lease lasts"
	moreTrouble = "the node reports more trouble than its status has room for"
	heldBack    = "the node keeps what it has until the deselection of others is confirmed: see the resources that are DeselectionHeld"
)

// update brings in a node as it is now; nc is nil while it has no NodeCatalog, and silent
// says that its agent is.
func (s *standings) update(name string, result *compiler.NodeResult, nc *v1alpha1.NodeCatalog, p progress, silent bool) {
	of := origin{result: result, all: p.all, held: p.held, refused: p.refused, changes: p.changes, silent: silent}
	if nc != nil {
		of.version = nc.ResourceVersion
	}
	was := s.nodes[name]
	if was != nil && was.of == of {
		return
	}
	s.remove(name)
	is := newStanding(result, nc, p, silent)
	is.of = of
	if s.nodes == nil {
		s.nodes, s.exceptions = map[string]*standing{}, map[v1alpha1.ResourceRef]map[string]state{}
	}
	s.nodes[name] = is
	for ref, e := range is.exceptions {
		if s.exceptions[ref] == nil {
			s.exceptions[ref] = map[string]state{}
		}
		s.exceptions[ref][name] = e
	}
}

// remove forgets a node.
func (s *standings) remove(name string) {
	was := s.nodes[name]
	if was == nil {
		return
	}
	for ref := range was.exceptions {
		delete(s.exceptions[ref], name)
		if len(s.exceptions[ref]) == 0 {
			delete(s.exceptions, ref)
		}
	}
	delete(s.nodes, name)
}

// keep forgets all nodes but those that there are.
func (s *standings) keep(nodes map[string]*compiler.NodeResult) {
	for name := range s.nodes {
		if nodes[name] == nil {
			s.remove(name)
		}
	}
}

// newStanding joins what a node should be with what it reports. What is withheld from it
// counts before its silence, that before what it has yet to apply, and that before what it
// reports of an older state.
func newStanding(result *compiler.NodeResult, nc *v1alpha1.NodeCatalog, p progress, silent bool) *standing {
	s := &standing{rest: state{ResourceState: v1alpha1.StateInSync}, exceptions: map[v1alpha1.ResourceRef]state{}}
	pending := state{ResourceState: v1alpha1.StatePending, message: waitsFor(nc)}
	if p.held {
		pending.message = heldBack
	}
	if p.refused != "" {
		pending.message = refusedMessage(p.refused)
	}
	if silent {
		s.rest = state{ResourceState: v1alpha1.StateUnknown, message: silence}
		pending = state{v1alpha1.StateUnknown, silence + ", and it has yet to apply this", true}
	}
	switch {
	case p.all:
		s.rest = pending
	case nc != nil:
		s.report(result, nc.Status, silent)
	}
	for ref := range p.some {
		if result.EntryHash(ref) != "" {
			s.exceptions[ref] = pending
		}
	}
	for _, w := range result.Spec.Withheld {
		s.exceptions[w.Ref] = state{ResourceState: v1alpha1.StateWithheld, message: w.Message}
	}
	return s
}

// report takes in what a node says, or said before it fell silent, of resources that are
// still its own.
func (s *standing) report(result *compiler.NodeResult, status v1alpha1.NodeCatalogStatus, silent bool) {
	last := func(is state) state { return is }
	if silent {
		last = lastHeard
	}
	if status.Omitted > 0 {
		s.rest = last(state{ResourceState: v1alpha1.StatePending, message: moreTrouble})
	}
	for _, r := range status.Resources {
		if ref := v1alpha1.ResourceRef(r.Ref); result.EntryHash(ref) != "" {
			s.exceptions[ref] = last(state{ResourceState: r.State, message: cmp.Or(r.Message, changesText(r.Changes))})
		}
	}
}

// lastHeard is how a resource is on a silent node that was in some state before. What was not
// as it should be then is not taken to be so by now.
func lastHeard(was state) state {
	if good(was.ResourceState) || was.ResourceState == v1alpha1.StateNoop {
		return state{ResourceState: v1alpha1.StateUnknown, message: silence}
	}
	return state{v1alpha1.StateUnknown, silence + "; before, " + cmp.Or(was.message, string(was.ResourceState)), true}
}

func waitsFor(nc *v1alpha1.NodeCatalog) string {
	if nc == nil {
		return "no agent has reported from the node yet"
	}
	if why := stalledMessage(nc.Status); why != "" {
		return why
	}
	if nc.Status.AgentVersion == "" && nc.Status.AppliedDigest == "" {
		return "no agent has reported from the node yet"
	}
	return "the node has yet to apply it"
}

func changesText(changes []v1alpha1.PropertyChange) string {
	var parts []string
	for _, c := range changes {
		parts = append(parts, fmt.Sprintf("%s is %q, should be %q", c.Property, c.Is, c.Should))
	}
	return strings.Join(parts, "; ")
}
