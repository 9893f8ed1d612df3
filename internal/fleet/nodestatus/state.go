package nodestatus

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
	"github.com/fettle-dev/fettle/internal/text"
)

// A State is the state of a resource on one node, with an explanation.
type State struct {
	v1alpha1.ResourceState
	Message string
	// Unapplied is set on Unknown states: the node has not applied the resource's present
	// generation, or failed to, as far as it reported.
	Unapplied bool
	// OutOfSync means that the resource is known to differ there.
	OutOfSync bool
}

// Messages that appear on more than one kind of object.
const (
	SilentMessage    = nodestate.SilentMessage
	TruncatedMessage = "the node's status was truncated; state unknown"
)

// HeldMessage explains that a node is not updated.
func HeldMessage(h v1alpha1.Held) string {
	return fmt.Sprintf("update held since %s: the node would lose %s, and too many nodes would be deselected at once (DeselectionHeld)",
		h.Since.UTC().Format(time.RFC3339), text.ListOf(len(h.Resources)+int(h.Omitted), h.Resources[:min(len(h.Resources), 2)]))
}

// RefusedMessage explains that the API server rejects a node's NodeCatalog.
func RefusedMessage(err string) string {
	return "the API server rejects the NodeCatalog, so the node stays at its last one: " + err
}

// Healthy reports whether nothing is left to do.
func Healthy(s v1alpha1.ResourceState) bool { return nodestate.Healthy(s) }

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
	s := State{ResourceState: r.State, Message: r.Message, OutOfSync: r.OutOfSync}
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

// State returns the state of a node, as [nodestate.Of] derives it from the NodeCatalog. The manager knows two things earlier or
// better: whether the agent is silent, and that the API server rejects an update.
func (n Node) State() nodestate.State {
	switch {
	case n.Silent:
		return nodestate.Silent
	case n.Reported == nil:
		return nodestate.Pending
	}
	s := nodestate.OfHeard(n.Reported).State
	if n.Refused != "" && s != nodestate.Disabled && s != nodestate.Held {
		return nodestate.Pending
	}
	return s
}

// MaxSamples is the number of nodes that a status names.
const MaxSamples = 10

// maxMessage bounds the message of a sample, in bytes.
const maxMessage = 256

// Message makes text from a node printable and as short as a status or an event can hold. The reason of an error is at its end.
func Message(s string) string { return text.ClipMiddle(text.Line(s), maxMessage) }
