// Package cleanup decides which nodes the deletion of a resource waits for.
//
// A resource whose deletionPolicy is not Orphan has a finalizer. It is deleted once no node can
// have anything of it left. What a node was given is known from its NodeCatalog: the spec, and
// the list of pending clean-ups that the manager writes there. What the node reports decides
// only when it is done, so that no node can hold up the deletion of what it never had.
package cleanup

import (
	"fmt"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/conditions"
	"github.com/fettle-dev/fettle/internal/fleet/kubectl"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
	"github.com/fettle-dev/fettle/internal/text"
)

// An Observation is what is known of a node and a resource that is being deleted.
type Observation struct {
	Status   v1alpha1.NodeCatalogStatus
	Progress nodestatus.Progress
	Had      bool                // its spec contains the resource, or it has yet to clean up
	Held     *v1alpha1.Held      // why its spec stays the one that contains it; nil if it does not
	Waiting  *nodestatus.Waiting // for a rollout; nil if it has the newest revision
	Silent   bool
}

// State returns the state of a deleted resource on a node, the zero State if nothing of it can be
// left there: the node never had it, or never reported at all.
func State(ref v1alpha1.ResourceRef, n Observation) nodestatus.State {
	if !n.Had || n.Status.AgentVersion == "" && n.Status.AppliedDigest == "" {
		return nodestatus.State{}
	}
	s := reportedProblem(ref, n.Status)
	if message := n.pending(ref); s.ResourceState == "" && message != "" {
		s = nodestatus.State{ResourceState: v1alpha1.StatePending, Message: message}
	}
	if n.Silent && s.ResourceState != "" {
		s = nodestatus.State{ResourceState: v1alpha1.StateUnknown, Message: nodestatus.SilentMessage + "; last known: " + s.Message}
	}
	return s
}

// reportedProblem returns the state that a node reports for a resource; the zero State if it is healthy.
func reportedProblem(ref v1alpha1.ResourceRef, status v1alpha1.NodeCatalogStatus) nodestatus.State {
	s := nodestatus.Reported(ref, status)
	switch {
	case nodestatus.Healthy(s.ResourceState):
		return nodestatus.State{}
	case s.ResourceState != "" && s.Message == "":
		s.Message = "no details reported"
	}
	return s
}

// pending explains why a resource may be left on a node that reports no problem with it.
func (n Observation) pending(ref v1alpha1.ResourceRef) string {
	switch {
	case n.Held != nil:
		return nodestatus.HeldMessage(*n.Held)
	case n.Waiting.ForRemoval(ref):
		return n.Waiting.Message
	case n.Progress.Pending(ref):
		if why := nodestatus.StalledMessage(n.Status); why != "" {
			return why
		}
		return "the node has yet to apply the deletion"
	case n.Status.Omitted > 0:
		return nodestatus.TruncatedMessage
	}
	return ""
}

// Waiting summarizes the nodes that a deletion waits for. The zero value waits for none.
type Waiting struct {
	nodestatus.Summary
	// Obstacle is why no node removes a resource of a Remote type yet, "" if one does.
	Obstacle string
}

// Add adds a node by the state of the resource there; the zero State adds nothing.
func (w *Waiting) Add(node string, s nodestatus.State) {
	if s.ResourceState != "" {
		w.Summary.Add(node, s)
	}
}

// Done reports whether no node is left.
func (w *Waiting) Done() bool { return w.Counts.Selected == 0 && w.Obstacle == "" }

// Outcome returns what the status of the resource is made from. It counts the nodes that the
// deletion waits for.
func (w *Waiting) Outcome(o v1alpha1.Resource) conditions.Outcome {
	command := kubectl.Annotate(v1alpha1.RefOf(o), v1alpha1.AnnotationAbandonCleanup, "true")
	if w.Obstacle != "" {
		return conditions.Outcome{
			Generation: o.GetGeneration(), Summary: w.Summary,
			Cleanup: fmt.Sprintf("deletionPolicy %s: %s. To delete it without waiting: %s", o.GetTargeting().DeletionPolicy, w.Obstacle, command),
		}
	}
	nodes := int(w.Counts.Selected)
	return conditions.Outcome{
		Generation: o.GetGeneration(),
		Summary:    w.Summary,
		Cleanup: fmt.Sprintf("deletionPolicy %s: %d %s yet to clean up: %s. To delete it without waiting: %s",
			o.GetTargeting().DeletionPolicy, nodes, text.Plural(nodes, "node has", "nodes have"), w.names(), command),
	}
}

// names describes the first nodes, and counts the others.
func (w *Waiting) names() string {
	const named = 3
	var names []string
	for _, s := range w.Samples[:min(len(w.Samples), named)] {
		names = append(names, fmt.Sprintf("%s (%s: %s)", s.Node, s.State, s.Message))
	}
	return text.ListOf(int(w.Counts.Selected), names)
}

// Deselected explains which nodes a resource that exists waits for after it has deselected them, "" for none. w may be nil.
func (w *Waiting) Deselected() string {
	if w == nil || w.Done() {
		return ""
	}
	nodes := int(w.Counts.Selected)
	return fmt.Sprintf("%d %s deselected and %s yet to clean up: %s", nodes, text.Plural(nodes, "node was", "nodes were"), text.Plural(nodes, "has", "have"), w.names())
}
