package overview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Recent is the age of drift that a Status counts.
const Recent = 24 * time.Hour

// A Status is the state of a fleet.
type Status struct {
	Nodes NodeCounts `json:"nodes"`
	// Resources are the sums of what the nodes report. A resource counts once for each of its nodes.
	Resources ResourceCounts `json:"resources"`
	// Drift is that of the last 24 hours.
	Drift DriftCounts `json:"drift"`
	// Problems are the nodes that need attention, by name.
	Problems []Problem `json:"problems"`
}

// NodeCounts counts nodes. Each is counted once besides Total.
type NodeCounts struct {
	Total int `json:"total"`
	// Ready nodes have applied their catalog, and Applying ones are about to.
	Ready    int `json:"ready"`
	Applying int `json:"applying"`
	Failed   int `json:"failed"`
	Disabled int `json:"disabled"`
	Silent   int `json:"silent"`
}

// ResourceCounts counts resources on nodes.
type ResourceCounts struct {
	Total   int64 `json:"total"`
	InSync  int64 `json:"inSync"`
	Noop    int64 `json:"noop"`
	Skipped int64 `json:"skipped"`
	Failed  int64 `json:"failed"`
}

// DriftCounts counts drift.
type DriftCounts struct {
	Resources   int `json:"resources"`   // that drifted
	Nodes       int `json:"nodes"`       // on which they did
	Uncorrected int `json:"uncorrected"` // resources on nodes
}

// A Problem is a node that is not ready.
type Problem struct {
	Node    string    `json:"node"`
	Reason  string    `json:"reason"`
	Since   time.Time `json:"since"`
	Message string    `json:"message"`
}

// reasonSilent is the reason of a node whose agent is silent.
const reasonSilent = "Silent"

// StatusOf sums up the state of nodes.
func StatusOf(all []Node, now time.Time) Status {
	s := Status{Nodes: NodeCounts{Total: len(all)}, Problems: []Problem{}}
	for _, n := range all {
		s.Resources.add(n.Status.Counts)
		p := ProblemOf(n)
		s.Nodes.add(p.State())
		if p.State() != StateReady && p.State() != StateApplying {
			s.Problems = append(s.Problems, p)
		}
	}
	slices.SortFunc(s.Problems, func(a, b Problem) int { return strings.Compare(a.Node, b.Node) })
	q := Query{Since: now.Add(-Recent)}
	for _, q.By = range []string{ByResource, ByNode} {
		rows := Drifts(all, q)
		if q.By == ByNode {
			s.Drift.Nodes = len(rows)
			continue
		}
		s.Drift.Resources = len(rows)
		for _, r := range rows {
			s.Drift.Uncorrected += r.Uncorrected
		}
	}
	return s
}

func (c *ResourceCounts) add(n *v1alpha1.RunCounts) {
	if n == nil {
		return
	}
	c.Total += int64(n.Total)
	c.InSync += int64(n.InSync)
	c.Noop += int64(n.Noop)
	c.Skipped += int64(n.Skipped)
	c.Failed += int64(n.Failed)
}

func (c *NodeCounts) add(state string) {
	switch state {
	case StateReady:
		c.Ready++
	case StateApplying:
		c.Applying++
	case StateDisabled:
		c.Disabled++
	case StateSilent:
		c.Silent++
	default:
		c.Failed++
	}
}

// States of a node. Each node is in one of them.
const (
	StateReady    = "Ready"
	StateApplying = "Applying"
	StateFailed   = "Failed"
	StateDisabled = "Disabled"
	StateSilent   = "Silent"
)

// State returns the state of a node with this problem.
func (p Problem) State() string {
	switch p.Reason {
	case "":
		return StateReady
	case v1alpha1.ReasonApplying:
		return StateApplying
	case v1alpha1.ReasonDisabled:
		return StateDisabled
	case reasonSilent:
		return StateSilent
	}
	return StateFailed
}

// ProblemOf is why a node is not ready, with the reason "" if it is.
func ProblemOf(n Node) Problem {
	if text, silent := n.Annotations[v1alpha1.AnnotationSilentSince]; silent {
		since, _ := time.Parse(time.RFC3339, text) // the zero time if it is not one
		return Problem{Node: n.Name, Reason: reasonSilent, Since: since, Message: "its agent does not renew its Lease"}
	}
	ready := meta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return Problem{Node: n.Name, Reason: v1alpha1.ReasonApplying, Since: n.CreationTimestamp.Time}
	}
	if ready.Status == metav1.ConditionTrue {
		return Problem{}
	}
	return Problem{Node: n.Name, Reason: cmp.Or(ready.Reason, v1alpha1.ReasonApplying), Since: ready.LastTransitionTime.Time, Message: ready.Message}
}
