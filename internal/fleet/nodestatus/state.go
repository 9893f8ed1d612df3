package nodestatus

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
)

// A State is the state of a resource on one node, with an explanation.
type State struct {
	v1alpha1.ResourceState
	Message string
	// Unapplied is set on Unknown states: the node has not applied the resource's present
	// generation, or failed to, as far as it reported.
	Unapplied bool
}

// Messages that appear on more than one kind of object.
const (
	SilentMessage    = "no heartbeat from the node's agent for longer than its Lease lasts"
	TruncatedMessage = "the node's status was truncated; state unknown"
	HeldMessage      = "update held until the DeselectionHeld resources are confirmed"
)

// RefusedMessage explains that the API server rejects a node's NodeCatalog.
func RefusedMessage(err string) string {
	return "the API server rejects the NodeCatalog, so the node stays at its last one: " + err
}

// Healthy reports whether nothing is left to do.
func Healthy(s v1alpha1.ResourceState) bool {
	return s == v1alpha1.StateInSync || s == v1alpha1.StateChanged || s == v1alpha1.StateRefreshed
}

// urgency orders states for samples: those that need a person come first.
func urgency(s v1alpha1.ResourceState) int {
	order := []v1alpha1.ResourceState{
		v1alpha1.StateFailed, v1alpha1.StateWithheld, v1alpha1.StateSkipped, v1alpha1.StateUnknown, v1alpha1.StateDisabled, "", v1alpha1.StateNoop, v1alpha1.StatePending,
	}
	if i := slices.Index(order, s); i >= 0 {
		return i
	}
	return slices.Index(order, "")
}

// Reported returns the state that a node reports for a resource, the zero State if it reports
// none.
func Reported(ref v1alpha1.ResourceRef, status v1alpha1.NodeCatalogStatus) State {
	for _, r := range status.Resources {
		if v1alpha1.ResourceRef(r.Ref) == ref {
			return reportedState(r)
		}
	}
	return State{}
}

func reportedState(r v1alpha1.ResourceReport) State {
	s := State{ResourceState: r.State, Message: r.Message}
	if s.Message == "" {
		var changes []string
		for _, c := range r.Changes {
			changes = append(changes, fmt.Sprintf("%s is %q, should be %q", c.Property, c.Is, c.Should))
		}
		s.Message = strings.Join(changes, "; ")
	}
	return s
}

// StalledMessage explains why a node cannot apply its catalog, "" if it is not Stalled.
func StalledMessage(status v1alpha1.NodeCatalogStatus) string {
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled); c != nil && c.Status == "True" {
		return c.Message
	}
	return ""
}

// Disabled reports whether runs are disabled on a node, and why. nil is a node that reports nothing.
func Disabled(nc *v1alpha1.NodeCatalog) (why string, disabled bool) {
	if nc == nil {
		return "", false
	}
	c := meta.FindStatusCondition(nc.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Reason != v1alpha1.ReasonDisabled {
		return "", false
	}
	return c.Message, true
}

// NodeStates returns the values of [Node.State].
func NodeStates() []string {
	return []string{"Silent", "Disabled", "Held", "Pending", "Failed", "OutOfSync", "InSync"}
}

// State describes a node in one word, by what keeps it from being in sync.
func (n Node) State() string {
	_, disabled := Disabled(n.Reported)
	switch {
	case n.Silent:
		return "Silent"
	case disabled:
		return "Disabled"
	case n.Held:
		return "Held"
	case n.Reported == nil, n.Progress.All, len(n.Progress.Some) > 0:
		return "Pending"
	}
	switch c := n.Reported.Status.Counts; {
	case c != nil && c.Failed > 0:
		return "Failed"
	case c != nil && c.OutOfSync > 0:
		return "OutOfSync"
	}
	return "InSync"
}

// MaxSamples is the number of nodes that a status names.
const MaxSamples = 10

// maxMessage bounds the message of a sample, in bytes.
const maxMessage = 256

// Message makes text from a node printable and as short as a status or an event can hold. The reason of an error is at its end.
func Message(s string) string { return text.ClipMiddle(text.Line(s), maxMessage) }
