// Package nodestatus indexes the state of every resource on every node, and counts it.
//
// The [Index] is sparse. A node has one default state, which holds for all resources that
// select it, and exceptions. A fleet in sync costs one entry a node, and a change costs
// what the nodes concerned cost.
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
	Silent   bool   // the agent's heartbeats stopped
	Held     bool   // the deselection budget holds the update
	Refused  string // the API server's error for the NodeCatalog, "" for none
}

// Progress is what a node has yet to apply.
type Progress struct {
	All     bool                     // everything
	Some    [][]v1alpha1.ResourceRef // these resources, in lists that nodes share
	Version int                      // changes whenever Some does
}

// Pending reports whether a node has yet to apply a resource.
func (p Progress) Pending(ref v1alpha1.ResourceRef) bool {
	return p.All || slices.ContainsFunc(p.Some, func(refs []v1alpha1.ResourceRef) bool { return slices.Contains(refs, ref) })
}

// An Index holds the states of resources on nodes. The zero value is empty. It is not safe
// for concurrent use.
type Index struct {
	nodes      map[string]*entry
	exceptions map[v1alpha1.ResourceRef]map[string]State // by resource, then node
}

type entry struct {
	key        key
	standard   State // of all resources without an exception
	exceptions map[v1alpha1.ResourceRef]State
}

// A key identifies what an entry was made from: equal keys make equal entries.
type key struct {
	desired         *compiler.NodeResult
	resourceVersion string
	all             bool
	version         int
	silent, held    bool
	refused         string
}

// Update replaces the states on a node.
func (x *Index) Update(n Node) {
	k := key{n.Desired, "", n.Progress.All, n.Progress.Version, n.Silent, n.Held, n.Refused}
	if n.Reported != nil {
		k.resourceVersion = n.Reported.ResourceVersion
	}
	if was := x.nodes[n.Name]; was != nil && was.key == k {
		return
	}
	x.remove(n.Name)
	if x.nodes == nil {
		x.nodes, x.exceptions = map[string]*entry{}, map[v1alpha1.ResourceRef]map[string]State{}
	}
	e := newEntry(n)
	e.key = k
	x.nodes[n.Name] = e
	for ref, s := range e.exceptions {
		if x.exceptions[ref] == nil {
			x.exceptions[ref] = map[string]State{}
		}
		x.exceptions[ref][n.Name] = s
	}
}

// Retain removes all nodes but these.
func (x *Index) Retain(nodes map[string]*compiler.NodeResult) {
	for name := range x.nodes {
		if nodes[name] == nil {
			x.remove(name)
		}
	}
}

func (x *Index) remove(node string) {
	e := x.nodes[node]
	if e == nil {
		return
	}
	for ref := range e.exceptions {
		delete(x.exceptions[ref], node)
		if len(x.exceptions[ref]) == 0 {
			delete(x.exceptions, ref)
		}
	}
	delete(x.nodes, node)
}

// newEntry derives states in this order of precedence: withheld, silent, yet to apply, and
// then what the node reports.
func newEntry(n Node) *entry {
	e := &entry{standard: State{ResourceState: v1alpha1.StateInSync}, exceptions: map[v1alpha1.ResourceRef]State{}}
	pending := State{ResourceState: v1alpha1.StatePending, Message: pendingMessage(n)}
	why, disabled := Disabled(n.Reported)
	if disabled {
		e.standard = State{ResourceState: v1alpha1.StateDisabled, Message: why}
	}
	if n.Silent {
		e.standard = State{ResourceState: v1alpha1.StateUnknown, Message: SilentMessage}
		pending = State{v1alpha1.StateUnknown, SilentMessage + ", and it has yet to apply this", true}
	}
	switch {
	case n.Progress.All:
		e.standard = pending
	case n.Reported != nil:
		e.addReported(n)
	}
	for _, refs := range n.Progress.Some {
		for _, ref := range refs {
			if n.Desired.EntryHash(ref) != "" {
				e.exceptions[ref] = pending
			}
		}
	}
	for _, w := range n.Desired.Spec.Withheld {
		e.exceptions[w.Ref] = State{ResourceState: v1alpha1.StateWithheld, Message: w.Message}
	}
	return e
}

// addReported adds what the node reports about resources that still select it.
func (e *entry) addReported(n Node) {
	status := n.Reported.Status
	if status.Omitted > 0 {
		e.standard = lastKnown(State{ResourceState: v1alpha1.StatePending, Message: TruncatedMessage}, n.Silent)
	}
	for _, r := range status.Resources {
		if ref := v1alpha1.ResourceRef(r.Ref); n.Desired.EntryHash(ref) != "" {
			e.exceptions[ref] = e.orDisabled(lastKnown(reportedState(r), n.Silent))
		}
	}
}

// orDisabled replaces a healthy state by that of a node on which runs are disabled.
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
	return State{v1alpha1.StateUnknown, SilentMessage + "; last known: " + s.describe(), true}
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
	case n.Held:
		return HeldMessage
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
