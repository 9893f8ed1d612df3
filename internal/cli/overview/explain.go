package overview

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
)

// An Explanation is why a resource is in its state on a node.
type Explanation struct {
	Node     string `json:"node"`
	Selected bool   `json:"selected"`
	// Held is set if the node's update is held. A node that is no longer selected then still has the resource.
	Held bool `json:"held,omitempty"`
	// State is the state of the resource on a selected node: a state of the API.
	State v1alpha1.ResourceState `json:"state,omitempty"`
	// Since is when it entered the state, if the node reports that.
	Since *metav1.Time `json:"since,omitempty"`
	// Reason is why the node is not selected, or explains the state. A cause comes before its consequences.
	Reason string `json:"reason,omitempty"`
	// Drift is what the node remembers of drift.
	Drift *v1alpha1.DriftRecord `json:"drift,omitempty"`
}

// Shown reports whether the resource concerns the node: the node is selected, or has it still.
func (e Explanation) Shown() bool { return e.Selected || e.Held }

// Differs reports whether the node differs from the resource, or will change: it is noop or pending there.
func (e Explanation) Differs() bool {
	return e.Selected && (e.State == v1alpha1.StateNoop || e.State == v1alpha1.StatePending)
}

// Fails reports whether the resource is not applied on the node, or its state there is unknown.
func (e Explanation) Fails() bool {
	return e.Held || e.Selected && e.State != v1alpha1.StateInSync && !e.Differs()
}

// held returns what holds the update of the node; nil if nothing does.
func (n Node) held() *v1alpha1.Held {
	if n.Catalog == nil {
		return nil
	}
	return n.Catalog.Spec.Held
}

// explain explains the state of a resource on a node that it selects. The order follows the resource's status: what withholds a
// resource has precedence over a silent agent, and that over what the agent reported.
func explain(r Resource, n Node) Explanation {
	e := Explanation{Node: n.Name, Selected: true, State: v1alpha1.StateInSync}
	if n.Catalog == nil {
		e.State, e.Reason = v1alpha1.StatePending, "the node has no NodeCatalog yet"
		return e
	}
	ref, c := r.Ref(), n.Catalog
	e.Held = c.Spec.Held != nil && isPending(r, n.Name, true)
	if i := slices.IndexFunc(c.Status.Drift, func(d v1alpha1.DriftRecord) bool { return string(d.Ref) == string(ref) }); i >= 0 {
		e.Drift = &c.Status.Drift[i]
	}
	if why, withheld := c.withheld(ref); withheld {
		e.State, e.Reason = v1alpha1.StateWithheld, why
		return e
	}
	e.explainDelivery(r, *c)
	return e
}

// explainDelivery explains how far a resource that is not withheld got on a node.
func (e *Explanation) explainDelivery(r Resource, c NodeCatalog) {
	switch is := c.State(); {
	case is.State == nodestate.Silent:
		e.State, e.Reason, e.Since = v1alpha1.StateUnknown, is.Message, sinceOf(is)
	case e.Held:
		e.State, e.Reason, e.Since = v1alpha1.StatePending, is.Message, &c.Spec.Held.Since
	case c.Spec.Held == nil && isPending(r, e.Node, c.Generation != c.Status.AppliedGeneration):
		e.State, e.Reason = v1alpha1.StatePending, "the node has yet to apply it"
		if is.Message != "" {
			e.Reason += ": " + is.Message
		}
	case is.State == nodestate.Disabled:
		e.State, e.Reason, e.Since = v1alpha1.StateDisabled, is.Message, sinceOf(is)
		e.reported(r, c)
	default:
		e.reported(r, c)
	}
}

func sinceOf(s nodestate.Status) *metav1.Time {
	if s.Since.IsZero() {
		return nil
	}
	return &metav1.Time{Time: s.Since}
}

// isPending reports whether a node has yet to apply a resource. The manager knows what changed in the node's catalog, so the status of
// the resource decides as far as it tells; otherwise, the node is behind as a whole or not.
func isPending(r Resource, node string, behind bool) bool {
	if r.Status.Nodes == nil || r.Status.ObservedGeneration != r.Generation {
		return behind
	}
	listed := 0
	for _, s := range r.Status.Samples {
		if s.State == v1alpha1.StatePending {
			if listed++; s.Node == node {
				return true
			}
		}
	}
	return behind && int(r.Status.Nodes.Pending) > listed
}

// withheld returns why a resource is withheld from the node.
func (n NodeCatalog) withheld(ref v1alpha1.ResourceRef) (why string, withheld bool) {
	i := slices.IndexFunc(n.Spec.Withheld, func(w v1alpha1.Withheld) bool { return w.Ref == ref })
	if i < 0 {
		return "", false
	}
	w := n.Spec.Withheld[i]
	return w.Why(), true
}

// reported adds what the node reports of the resource. It lists only what is not in sync, and drift that its last run corrected. On a
// node on which runs are disabled, only earlier problems count.
func (e *Explanation) reported(r Resource, c NodeCatalog) {
	for _, reported := range c.Status.Resources {
		if string(reported.Ref) != string(r.Ref()) {
			continue
		}
		if healthy := nodestate.Healthy(reported.State); healthy && e.State == v1alpha1.StateDisabled {
			return
		} else if healthy {
			e.Since, e.Reason = reported.Since, "drift corrected: "+strings.Join(corrections(reported), "; ")
			return
		}
		e.State, e.Since, e.Reason = reported.State, reported.Since, describe(reported)
		if e.State == v1alpha1.StateSkipped {
			e.Reason = withCauses(r, c, e.Reason)
		}
		return
	}
	if c.Status.Omitted > 0 && e.State == v1alpha1.StateInSync {
		e.State, e.Reason = v1alpha1.StateUnknown, "the node reports too many problems to list all"
	}
}

// withCauses puts before the message of a skipped resource what happened to the resources that it requires.
func withCauses(r Resource, c NodeCatalog, skipped string) string {
	var causes []string
	for _, other := range slices.Concat(r.Spec.Require, r.Spec.Subscribe) {
		if why, withheld := c.withheld(other); withheld {
			causes = append(causes, fmt.Sprintf("%s is withheld: %s", other, why))
		}
		for _, report := range c.Status.Resources {
			if string(report.Ref) == string(other) && report.State == v1alpha1.StateFailed {
				causes = append(causes, fmt.Sprintf("%s failed: %s", other, describe(report)))
			}
		}
	}
	return strings.Join(append(causes, skipped), "; ")
}

// describe is the message of a report or, without one, its changes.
func describe(r v1alpha1.ResourceReport) string {
	if r.Message != "" {
		return r.Message
	}
	var changes []string
	for _, c := range r.Changes {
		changes = append(changes, fmt.Sprintf("%s is %q, should be %q", c.Property, c.Is, c.Should))
	}
	return strings.Join(changes, "; ")
}

// corrections describes changes that were made.
func corrections(r v1alpha1.ResourceReport) (all []string) {
	for _, c := range r.Changes {
		all = append(all, fmt.Sprintf("%s was %q, is %q", c.Property, c.Is, c.Should))
	}
	if len(all) == 0 && r.Message != "" {
		all = append(all, r.Message)
	}
	return all
}
