package controllers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// maxSamples is how many nodes a status names.
const maxSamples = 10

// A nodeView is what a node says of its resources.
type nodeView struct {
	progress progress
	// stuck is why the node can't go on, "" if it can.
	stuck    string
	agent    bool // has ever reported
	withheld map[v1alpha1.ResourceRef]v1alpha1.Withheld
	reports  map[v1alpha1.ResourceRef]v1alpha1.ResourceReport
	omitted  bool // there are more reports than it could send
}

// newNodeView joins what a node should be with what it reports; nc is nil while it has
// no NodeCatalog.
func newNodeView(spec v1alpha1.NodeCatalogSpec, nc *v1alpha1.NodeCatalog, p progress) *nodeView {
	v := &nodeView{
		progress: p,
		withheld: make(map[v1alpha1.ResourceRef]v1alpha1.Withheld, len(spec.Withheld)),
		reports:  map[v1alpha1.ResourceRef]v1alpha1.ResourceReport{},
	}
	for _, w := range spec.Withheld {
		v.withheld[w.Ref] = w
	}
	if nc == nil {
		return v
	}
	v.agent = nc.Status.AgentVersion != "" || nc.Status.AppliedDigest != ""
	v.omitted = nc.Status.Omitted > 0
	if c := meta.FindStatusCondition(nc.Status.Conditions, v1alpha1.ConditionStalled); c != nil && c.Status == "True" {
		v.stuck = c.Message
	}
	for _, r := range nc.Status.Resources {
		v.reports[v1alpha1.ResourceRef(r.Ref)] = r
	}
	return v
}

// state is how a resource is on the node, and what there is to say about that.
func (v *nodeView) state(ref v1alpha1.ResourceRef) (v1alpha1.ResourceState, string) {
	if w, ok := v.withheld[ref]; ok {
		return v1alpha1.StateWithheld, w.Message
	}
	if v.progress.pending(ref) {
		return v1alpha1.StatePending, v.waitsFor()
	}
	if r, ok := v.reports[ref]; ok {
		return r.State, cmp.Or(r.Message, changesText(r.Changes))
	}
	if v.omitted {
		return v1alpha1.StatePending, "the node reports more trouble than its status has room for"
	}
	return v1alpha1.StateInSync, ""
}

func (v *nodeView) waitsFor() string {
	switch {
	case v.stuck != "":
		return v.stuck
	case !v.agent:
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

// aggregate counts the nodes that a resource selects, and picks samples.
func aggregate(ref v1alpha1.ResourceRef, nodes []string, views map[string]*nodeView) (v1alpha1.NodeCounts, []v1alpha1.NodeSample) {
	counts := v1alpha1.NodeCounts{}
	var samples []v1alpha1.NodeSample
	for _, node := range nodes {
		state, message := views[node].state(ref)
		counts.Selected++
		*counter(&counts, state)++
		if counter(&counts, state) != &counts.InSync {
			samples = append(samples, v1alpha1.NodeSample{Node: node, State: state, Message: shortened(message)})
		}
	}
	slices.SortStableFunc(samples, func(a, b v1alpha1.NodeSample) int {
		return cmp.Or(cmp.Compare(urgency(a.State), urgency(b.State)), strings.Compare(a.Node, b.Node))
	})
	return counts, samples[:min(len(samples), maxSamples)]
}

// counter is the one of the counts that a state belongs to.
func counter(c *v1alpha1.NodeCounts, s v1alpha1.ResourceState) *int32 {
	switch s {
	case v1alpha1.StateInSync, v1alpha1.StateChanged, v1alpha1.StateRefreshed:
		return &c.InSync
	case v1alpha1.StateFailed:
		return &c.Failed
	case v1alpha1.StateSkipped, v1alpha1.StateWithheld:
		return &c.Skipped
	case v1alpha1.StateNoop:
		return &c.Noop
	case v1alpha1.StatePending:
		return &c.Pending
	}
	return &c.OutOfSync // a state that a newer agent knows, or none of the good ones
}

// urgency orders samples: what needs a person comes first.
func urgency(s v1alpha1.ResourceState) int {
	order := []v1alpha1.ResourceState{
		v1alpha1.StateFailed, v1alpha1.StateWithheld, v1alpha1.StateSkipped, "", v1alpha1.StateNoop, v1alpha1.StatePending,
	}
	if i := slices.Index(order, s); i >= 0 {
		return i
	}
	return slices.Index(order, "")
}

// shortened keeps ten samples, and a condition, at a size that people read.
func shortened(s string) string {
	const limit = 256
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len("...")], "") + "..."
}
