package controllers

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/fleet/contents"
	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
	"github.com/fettle-dev/fettle/internal/fleet/rollout"
)

// An observer describes the nodes of one policy for its decision.
type observer struct {
	*policyScope
	heartbeats    *heartbeat.Monitor
	leaseDuration time.Duration
	refusals      limits.Refusals
	state         rollout.State
	differ        contents.Differ
	groups        map[*v1alpha1.CatalogRef]string
}

// node describes a node.
func (o *observer) node(name string) rollout.Observation {
	has, node := o.specs[name], o.nodes[name]
	at := locate(o.scope, name, o.policy, o.state, has, o.compiled)
	is := rollout.Observation{
		Name: name, Zone: node.Labels[corev1.LabelTopologyZone], ControlPlane: isControlPlane(node),
		Affected: at.Affected, AtGoal: at.AtGoal, Abandoned: at.Abandoned, Revision: has.recorded(), Digest: has.digest,
		Silent: o.heartbeats.Silent(name), Leaving: isLeaving(node),
	}
	is.Held = o.held[name] != nil
	if slices.Contains(o.state.Admitting, name) {
		is.Refused = o.refusals.Error(name)
	}
	if at.goal == nil { // nothing can be given to it
		return is
	}
	is.Group = o.groupOf(at.goal.Spec)
	if has.Rollout != nil {
		if is.Joined = has.Rollout.Since == nil; !is.Joined {
			is.Since = has.Rollout.Since.Time
		}
	}
	if c := readyCondition(node); c != nil && c.Status != corev1.ConditionTrue {
		is.NotReady, is.NotReadySince = true, c.LastTransitionTime.Time
	}
	if nc := o.nodeCatalogs[name]; nc != nil {
		o.addReported(&is, nc, has, at)
	}
	return is
}

// addReported adds what the agent of a node reports.
func (o *observer) addReported(is *rollout.Observation, nc *v1alpha1.NodeCatalog, has spec, at location) {
	is.Applied = has.applied(has.digest, nc.Status)
	_, is.Disabled = nodestatus.Disabled(nc)
	if nc.Status.AgentVersion == "" && nc.Status.AppliedDigest == "" {
		is.Silent = true // there is no agent yet
	}
	var changed []v1alpha1.ResourceRef
	if is.Affected && at.stable != nil {
		changed = o.differ.Diff(at.stable.Spec, at.goal.Spec).Changed
	}
	is.SilentSince = silentSince(nc, o.leaseDuration)
	is.Failing, is.FailingNew = failing(nc, changed, is)
	is.Untried = is.AtGoal && is.Applied && untried(nc, changed)
	is.Unrepaired = has.Rollout != nil && has.Rollout.Departed != nil && unwellSince(nc, is, has.Rollout.Departed.Time)
}

// failing returns why a node fails, "" if it does not, and whether that is new: it began after the node was moved, or concerns something
// that the target changes there.
func failing(nc *v1alpha1.NodeCatalog, changed []v1alpha1.ResourceRef, is *rollout.Observation) (why string, isNew bool) {
	if s := nodestate.OfHeard(nc); s.State == nodestate.Failed && (nc.Status.Counts == nil || nc.Status.Counts.Failed == 0) {
		return fmt.Sprintf("%s: %s", s.Reason, s.Message), !s.Since.Before(is.Since)
	}
	for _, r := range nc.Status.Resources {
		if r.State != v1alpha1.StateFailed {
			continue
		}
		if began := beganWith(r, changed, is); why == "" || began && !isNew {
			why, isNew = fmt.Sprintf("%s failed: %s", r.Ref, r.Message), began
		}
	}
	return why, isNew
}

// beganWith reports whether a failure began after the node was moved, or concerns a resource that the target changes and the node has applied:
// until then, it is what the target may be there to repair.
func beganWith(r v1alpha1.ResourceReport, changed []v1alpha1.ResourceRef, is *rollout.Observation) bool {
	_, concerned := slices.BinarySearch(changed, v1alpha1.ResourceRef(r.Ref))
	return concerned && is.Applied || r.Since != nil && !r.Since.Time.Before(is.Since)
}

// unwellSince reports whether a node began to fail after a time and does still, or ceased to be Ready and is not.
func unwellSince(nc *v1alpha1.NodeCatalog, is *rollout.Observation, at time.Time) bool {
	before := *is
	before.Since = at
	_, fails := failing(nc, nil, &before)
	return fails || is.NotReady && !is.NotReadySince.Before(at)
}

// silentSince returns when the Lease of a node expired that a manager has marked as silent, zero if none did.
func silentSince(nc *v1alpha1.NodeCatalog, leaseDuration time.Duration) time.Time {
	renewed, err := time.Parse(time.RFC3339, nc.Annotations[v1alpha1.AnnotationSilentSince])
	if err != nil {
		return time.Time{}
	}
	return renewed.Add(leaseDuration)
}

// untried reports whether everything that differs was skipped on a node, or only reported.
func untried(nc *v1alpha1.NodeCatalog, changed []v1alpha1.ResourceRef) bool {
	states := make(map[v1alpha1.ResourceRef]v1alpha1.ResourceState, len(nc.Status.Resources))
	for _, r := range nc.Status.Resources {
		states[v1alpha1.ResourceRef(r.Ref)] = r.State
	}
	return len(changed) > 0 && !slices.ContainsFunc(changed, func(ref v1alpha1.ResourceRef) bool {
		return states[ref] != v1alpha1.StateSkipped && states[ref] != v1alpha1.StateNoop
	})
}

// groupOf returns the same for nodes that get the same Catalogs, which share their list.
func (o *observer) groupOf(spec v1alpha1.NodeCatalogSpec) string {
	if len(spec.Catalogs) == 0 {
		return ""
	}
	first := &spec.Catalogs[0]
	if _, known := o.groups[first]; !known {
		o.groups[first] = catalog.DigestOf(v1alpha1.NodeCatalogSpec{Catalogs: spec.Catalogs}, nil)
	}
	return o.groups[first]
}

func isControlPlane(n *corev1.Node) bool {
	_, is := n.Labels["node-role.kubernetes.io/control-plane"]
	return is
}

// readyCondition returns the condition Ready of a Node, nil if it has none.
func readyCondition(n *corev1.Node) *corev1.NodeCondition {
	for i, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return &n.Status.Conditions[i]
		}
	}
	return nil
}

func isReady(n *corev1.Node) bool {
	c := readyCondition(n)
	return c == nil || c.Status == corev1.ConditionTrue
}

// leavingTaints are the taints that autoscalers put on Nodes which they are about to remove.
var leavingTaints = []string{"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted"}

// isLeaving reports whether a Node is about to be removed.
func isLeaving(n *corev1.Node) bool {
	return n.DeletionTimestamp != nil || slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return slices.Contains(leavingTaints, t.Key) })
}
