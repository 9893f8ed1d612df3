package audit

import (
	"maps"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// decide takes in a status.
func (j *judge) decide(w Write) {
	before := j.status
	if j.status = w.Status; before == nil {
		j.began = w.At
	}
	if before == nil || !sameRollout(before, w.Status) {
		before, j.named = nil, map[string]bool{}
	}
	further := j.name(w.Status.Admitting)
	j.checkCounts(w, before)
	if further > 0 && w.Status.Target != "" {
		j.checkLimits(w)
	}
	j.completed[w.Status.Stable] = true
}

func sameRollout(a, b *v1alpha1.RolloutPolicyStatus) bool {
	return a.Target == b.Target && a.Stable == b.Stable && (a.Started == nil) == (b.Started == nil) && (a.Started == nil || a.Started.Equal(b.Started))
}

// name notes the nodes that a status names, and returns how many of them no earlier one of this rollout has named.
func (j *judge) name(nodes []string) (further int) {
	if len(j.named) == 0 && len(nodes) > 0 {
		j.rollouts++
	}
	for _, node := range nodes {
		if !j.named[node] {
			j.named[node] = true
			further++
		}
	}
	return further
}

// checkCounts compares what a status counts with the log, and with the last status of the same rollout, nil for none. At rest, the numbers are
// those of the last rollout.
func (j *judge) checkCounts(w Write, before *v1alpha1.RolloutPolicyStatus) {
	is := w.Status
	if is.Target == "" {
		return
	}
	if most := j.soaked(w.At); int(is.Nodes.Proven) > most {
		j.fault(w, "the status counts %d nodes that have proven %s, but only %d have had it for %s", is.Nodes.Proven, is.Target, most, j.Soak)
	}
	if before != nil && is.Nodes.Failed < before.Nodes.Failed {
		j.fault(w, "the status counts %d failed nodes, which were %d before", is.Nodes.Failed, before.Nodes.Failed)
	}
	for _, f := range is.Failures {
		if !j.named[f.Node] && j.at[f.Node] != is.Target {
			j.fault(w, "node %s has failed with %s, but never got it", f.Node, is.Target)
		}
	}
	if named := len(is.Failures); int(is.Nodes.Failed) < named {
		j.fault(w, "the status counts %d failed nodes and names %d", is.Nodes.Failed, named)
	}
}

// soaked returns how many nodes may have had the goal for long enough to have proven it.
func (j *judge) soaked(now time.Time) (count int) {
	nodes := maps.Clone(j.named)
	for node := range j.at {
		nodes[node] = true
	}
	for node := range nodes {
		if since, has := j.hasGoal(node); has && now.Sub(since) >= j.Soak {
			count++
		}
	}
	return count
}

// hasGoal reports whether a node may have the goal, and since when.
func (j *judge) hasGoal(node string) (since time.Time, may bool) {
	if j.at[node] == j.goal() {
		return j.since[node], true
	}
	since, doubted := j.uncertain[node]
	return since, doubted && j.named[node]
}

// checkLimits checks a status that names further nodes. A node that was named counts as admitted, whether it has the goal already or
// not, except for those that cannot show whether it works.
func (j *judge) checkLimits(w Write) {
	n := w.Status.Nodes
	admitted, proven, failed := len(j.named)-int(n.Excluded), int(n.Proven), int(n.Failed)
	if failed > j.MaxFailed {
		j.fault(w, "%d nodes have failed with %s, %d may, and the status names further nodes", failed, w.Status.Target, j.MaxFailed)
	}
	if most := max(j.First+failed, 4*proven); admitted > most && !j.completed[w.Status.Target] {
		j.fault(w, "%d nodes are admitted to %s, %d may: %d have proven it, and %d have failed", admitted, w.Status.Target, most, proven, failed)
	}
	if inFlight := admitted - proven - failed; inFlight > j.MaxInFlight {
		j.fault(w, "%d nodes are in flight, %d may be: %d are admitted to %s, of which %d have proven it, and %d have failed", inFlight, j.MaxInFlight, admitted, w.Status.Target, proven, failed)
	}
}
