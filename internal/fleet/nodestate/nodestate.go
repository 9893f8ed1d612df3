// Package nodestate derives the state of a node from its NodeCatalog.
//
// The manager, the command line and the page count nodes and their resources with it, and so alike.
package nodestate

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
)

// A State is the state of a node. Each node is in exactly one: the first that applies, in the order of [States].
type State string

// States of a node.
const (
	// Silent nodes have an agent that stopped renewing its Lease, so its last report may be outdated.
	Silent State = "Silent"
	// Disabled nodes have runs disabled.
	Disabled State = "Disabled"
	// Held nodes are not updated until someone confirms or reverts a deselection.
	Held State = "Held"
	// Pending nodes have yet to apply their catalog.
	Pending State = "Pending"
	// Failed nodes have resources that failed, or cannot run.
	Failed State = "Failed"
	// Withheld nodes have resources that are withheld from them, or were skipped, and none that failed.
	Withheld State = "Withheld"
	// OutOfSync nodes have differences that are only reported.
	OutOfSync State = "OutOfSync"
	// InSync nodes match their catalog.
	InSync State = "InSync"
)

// States returns all states, by precedence.
func States() []State {
	return []State{Silent, Disabled, Held, Pending, Failed, Withheld, OutOfSync, InSync}
}

// NeedsAttention reports whether nodes in a state are not as desired, or unknown, until somebody acts.
func (s State) NeedsAttention() bool {
	return slices.Contains([]State{Silent, Disabled, Held, Failed, Withheld}, s)
}

// Healthy reports whether a resource in a state has nothing left to do.
func Healthy(s v1alpha1.ResourceState) bool {
	return s == v1alpha1.StateInSync || s == v1alpha1.StateChanged || s == v1alpha1.StateRefreshed
}

// SilentMessage explains that an agent is silent.
const SilentMessage = "no heartbeat from the node's agent for longer than its Lease lasts"

// A Status is the state of a node, with what explains it.
type Status struct {
	State State
	// Reason is the reason of the node's condition Ready, or the state if no condition has it. "" for InSync.
	Reason  string
	Message string
	Since   time.Time // the zero time if it is unknown
}

// Of returns the status of a node.
func Of(nc *v1alpha1.NodeCatalog) Status {
	since, silent := nc.Annotations[v1alpha1.AnnotationSilentSince]
	if !silent {
		return OfHeard(nc)
	}
	at, _ := time.Parse(time.RFC3339, since) // the zero time if it is not one
	return Status{State: Silent, Reason: string(Silent), Message: SilentMessage, Since: at}
}

// OfHeard is [Of] for a node that is known not to be silent, even if its NodeCatalog still says so.
func OfHeard(nc *v1alpha1.NodeCatalog) Status {
	ready := meta.FindStatusCondition(nc.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		ready = &metav1.Condition{Reason: v1alpha1.ReasonApplying, LastTransitionTime: nc.CreationTimestamp}
	}
	s := Status{State: stateOf(nc, *ready), Reason: ready.Reason, Message: ready.Message, Since: ready.LastTransitionTime.Time}
	switch {
	case s.State == InSync:
		return Status{State: InSync}
	case s.State == Held:
		s.Reason, s.Message, s.Since = string(Held), heldMessage(*nc.Spec.Held), nc.Spec.Held.Since.Time
	case s.State == Pending && ready.Reason != v1alpha1.ReasonApplying:
		s.Reason, s.Message = v1alpha1.ReasonApplying, fmt.Sprintf("generation %d is not applied yet", nc.Generation)
	case s.State == Withheld && ready.Status == metav1.ConditionTrue: // an agent that does not report it
		s.Reason, s.Message = string(Withheld), text.Count(withheld(nc), "resource")+" withheld"
	}
	return s
}

func stateOf(nc *v1alpha1.NodeCatalog, ready metav1.Condition) State {
	switch {
	case ready.Reason == v1alpha1.ReasonDisabled:
		return Disabled
	case nc.Spec.Held != nil:
		return Held
	case cannotRun(nc, ready):
		return Failed
	case ready.Reason == v1alpha1.ReasonApplying, nc.Generation != nc.Status.AppliedGeneration:
		return Pending
	}
	return applied(nc, ready)
}

// applied is the state of a node that has applied its catalog.
func applied(nc *v1alpha1.NodeCatalog, ready metav1.Condition) State {
	counts := nc.Status.Counts
	if counts == nil {
		counts = &v1alpha1.RunCounts{}
	}
	isReady := ready.Status == metav1.ConditionTrue
	switch {
	case counts.Failed > 0:
		return Failed
	case withheld(nc) > 0, !isReady && counts.Skipped > 0:
		return Withheld
	case !isReady: // for a reason that only a newer agent knows
		return Failed
	case counts.Noop+counts.OutOfSync > 0:
		return OutOfSync
	}
	return InSync
}

// cannotRun reports whether the agent cannot apply the catalog that the node has now.
func cannotRun(nc *v1alpha1.NodeCatalog, ready metav1.Condition) bool {
	reasons := []string{v1alpha1.ReasonRunFailed, v1alpha1.ReasonCatalogInvalid, v1alpha1.ReasonCatalogUnavailable}
	return nc.Generation == nc.Status.ObservedGeneration && slices.Contains(reasons, ready.Reason)
}

// heldMessage names what a node would lose.
func heldMessage(h v1alpha1.Held) string {
	return fmt.Sprintf("the update is held: the node would lose %s", text.ListOf(len(h.Resources)+int(h.Omitted), h.Resources))
}

// withheld counts the resources that a node lacks.
func withheld(nc *v1alpha1.NodeCatalog) (n int) {
	for _, w := range nc.Spec.Withheld {
		if w.IsMissing() {
			n++
		}
	}
	return n
}

// Counts are the resources of nodes by state. Each resource is counted in exactly one field, once for each of its nodes.
type Counts struct {
	InSync   int64 `json:"inSync"`
	Noop     int64 `json:"noop"`
	Failed   int64 `json:"failed"`
	Skipped  int64 `json:"skipped"`
	Withheld int64 `json:"withheld"`
	// Disabled resources were in sync when runs were disabled.
	Disabled int64 `json:"disabled"`
	// Unknown counts the resources of silent nodes, without the withheld ones.
	Unknown int64 `json:"unknown"`
}

// Total is the number of resources.
func (c Counts) Total() int64 {
	return c.InSync + c.Noop + c.Failed + c.Skipped + c.Withheld + c.Disabled + c.Unknown
}

// Add adds other counts.
func (c *Counts) Add(o Counts) {
	c.InSync += o.InSync
	c.Noop += o.Noop
	c.Failed += o.Failed
	c.Skipped += o.Skipped
	c.Withheld += o.Withheld
	c.Disabled += o.Disabled
	c.Unknown += o.Unknown
}

// Resources counts the resources of a node: in its last run, and withheld from it now.
func Resources(nc *v1alpha1.NodeCatalog) Counts {
	c := Counts{Withheld: int64(withheld(nc))}
	run := nc.Status.Counts
	if run == nil {
		return c
	}
	c.InSync, c.Noop, c.Failed, c.Skipped = int64(run.InSync), int64(run.Noop), int64(run.Failed), int64(run.Skipped)
	switch Of(nc).State {
	case Silent:
		return Counts{Withheld: c.Withheld, Unknown: c.Total() - c.Withheld}
	case Disabled:
		c.InSync, c.Disabled = 0, c.InSync
	case Held, Pending, Failed, Withheld, OutOfSync, InSync:
	}
	return c
}
