// Package nodestatus derives the state of every resource on every node, and counts it.
//
// The [Index] is sparse. A node has one default state, which holds for all resources that select
// it, and exceptions. A fleet in sync costs one entry a node.
package nodestatus

import (
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
)

// A Node is what determines the states of resources on one node.
type Node struct {
	Name     string
	Desired  *compiler.NodeResult
	Reported *v1alpha1.NodeCatalog // nil until the node has one
	Progress Progress
	Waiting  *Waiting       // for a rollout; nil if the node has the newest revision of everything
	Silent   bool           // the agent's heartbeats stopped
	Held     *v1alpha1.Held // why the deselection budget holds the update; nil if it does not
	Refused  string         // the API server's error for the NodeCatalog, "" for none
}

// Waiting is what a node does not get yet, because a RolloutPolicy gives it an earlier revision. Many nodes share one.
type Waiting struct {
	Policy  string
	Message string
	Changed []v1alpha1.ResourceRef // what differs in the newest revision, sorted
	Removed []v1alpha1.ResourceRef // what the newest revision has no more, sorted
}

// For reports whether the node waits for a resource. w may be nil.
func (w *Waiting) For(ref v1alpha1.ResourceRef) bool {
	if w == nil {
		return false
	}
	_, waits := slices.BinarySearch(w.Changed, ref)
	return waits
}

// ForRemoval reports whether the node waits for the removal of a resource. w may be nil.
func (w *Waiting) ForRemoval(ref v1alpha1.ResourceRef) bool {
	if w == nil {
		return false
	}
	_, waits := slices.BinarySearch(w.Removed, ref)
	return waits
}

// An Index holds the states of resources on nodes at one time. The zero value is empty. It is not
// safe for concurrent use.
type Index struct {
	nodes  map[string]*entry
	groups map[*string]*group // by the address of the name of their first node
}

type entry struct {
	Node
	standard   State // of all resources without an exception
	unapplied  State // of those that the node has yet to apply
	waiting    State // of those that wait for a rollout
	exceptions map[v1alpha1.ResourceRef]State
}

// Add adds a node, before resources are summarized.
func (x *Index) Add(n Node) {
	if x.nodes == nil {
		x.nodes = map[string]*entry{}
	}
	x.nodes[n.Name] = newEntry(n)
}

// state returns the state of a resource that selects the node, in this order of precedence: waiting for a rollout,
// withheld, silent, yet to apply, and then what the node reports.
func (e *entry) state(ref v1alpha1.ResourceRef) State {
	s, excepted := e.exceptions[ref]
	switch {
	case e.Waiting.For(ref):
		return e.waiting
	case s.ResourceState == v1alpha1.StateWithheld:
		return s
	case e.Progress.Pending(ref):
		return e.unapplied
	case excepted:
		return s
	}
	return e.standard
}

// isPlain reports whether all resources that select the node are in one state.
func (e *entry) isPlain() bool {
	return len(e.exceptions)+len(e.Progress.Some) == 0 && e.Waiting == nil
}

func newEntry(n Node) *entry {
	e := &entry{
		Node: n, standard: State{ResourceState: v1alpha1.StateInSync}, exceptions: map[v1alpha1.ResourceRef]State{},
		unapplied: State{ResourceState: v1alpha1.StatePending, Message: pendingMessage(n)},
	}
	if why, disabled := Disabled(n.Reported); disabled {
		e.standard = State{ResourceState: v1alpha1.StateDisabled, Message: why}
	}
	if n.Silent {
		e.standard = State{ResourceState: v1alpha1.StateUnknown, Message: SilentMessage}
		e.unapplied = State{ResourceState: v1alpha1.StateUnknown, Message: SilentMessage + ", and it has yet to apply this", Unapplied: true}
	}
	e.waiting = e.unapplied
	if n.Waiting != nil && !n.Silent {
		e.waiting.Message = n.Waiting.Message
	}
	switch {
	case n.Progress.All:
		e.standard = e.unapplied
	case n.Reported != nil:
		e.addReported(n.Reported.Status)
	}
	for _, w := range n.Desired.Spec.Withheld {
		e.exceptions[w.Ref] = State{ResourceState: v1alpha1.StateWithheld, Message: w.Message}
	}
	return e
}

// addReported adds what the node reports.
func (e *entry) addReported(status v1alpha1.NodeCatalogStatus) {
	if status.Omitted > 0 {
		e.standard = lastKnown(State{ResourceState: v1alpha1.StatePending, Message: TruncatedMessage}, e.Silent)
	}
	for _, r := range status.Resources {
		e.exceptions[v1alpha1.ResourceRef(r.Ref)] = e.orDisabled(lastKnown(reportedState(r), e.Silent))
	}
}

// orDisabled replaces a healthy state by Disabled on a node whose runs are disabled.
func (e *entry) orDisabled(s State) State {
	if e.standard.ResourceState == v1alpha1.StateDisabled && Healthy(s.ResourceState) {
		return e.standard
	}
	return s
}

// lastKnown is a reported state, or what it means once the node is silent: a resource that
// was out of sync is not assumed to have been corrected since.
func lastKnown(s State, silent bool) State {
	switch {
	case !silent:
		return s
	case Healthy(s.ResourceState), s.ResourceState == v1alpha1.StateNoop:
		return State{ResourceState: v1alpha1.StateUnknown, Message: SilentMessage}
	}
	return State{ResourceState: v1alpha1.StateUnknown, Message: SilentMessage + "; last known: " + s.describe(), Unapplied: true}
}

func (s State) describe() string {
	if s.Message == "" {
		return string(s.ResourceState)
	}
	return s.Message
}

func pendingMessage(n Node) string {
	switch {
	case n.Refused != "":
		return RefusedMessage(n.Refused)
	case n.Held != nil:
		return HeldMessage(*n.Held)
	case n.Reported == nil:
		return "no agent has reported from the node yet"
	}
	status := n.Reported.Status
	if why := StalledMessage(status); why != "" {
		return why
	}
	if status.AgentVersion == "" && status.AppliedDigest == "" {
		return "no agent has reported from the node yet"
	}
	return "the node has yet to apply it"
}
