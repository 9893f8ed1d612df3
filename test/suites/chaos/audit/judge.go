package audit

import (
	"fmt"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Limits are those of a policy, as numbers of nodes.
type Limits struct {
	First, MaxInFlight, MaxFailed int
	Soak                          time.Duration
}

// A Verdict is what a log shows.
type Verdict struct {
	Faults   []string // rules that were broken, in the order of the log
	Rollouts int      // that have named a node
	Moves    int      // of nodes to another revision
	// Revisions that nodes have. Those in Uncertain may have another one.
	Revisions map[string]string
	Uncertain map[string]bool
}

// Judge judges all writes since the policy was created, in the order in which the API server answered them. It judges one policy, which takes
// all nodes and whose spec does not change.
func Judge(writes []Write, l Limits) Verdict {
	j := &judge{Limits: l, at: map[string]string{}, since: map[string]time.Time{}, uncertain: map[string]time.Time{}, completed: map[string]bool{}}
	for _, w := range writes {
		switch {
		case w.Node != "" && w.Uncertain:
			j.doubt(w)
		case w.Node != "":
			j.move(w)
		case !w.Uncertain:
			j.decide(w)
		}
	}
	v := Verdict{Faults: j.faults, Rollouts: j.rollouts, Moves: j.moves, Revisions: j.at, Uncertain: map[string]bool{}}
	for node := range j.uncertain {
		v.Uncertain[node] = true
	}
	return v
}

// A judge has what a log shows up to one of its writes.
type judge struct {
	Limits
	began     time.Time
	status    *v1alpha1.RolloutPolicyStatus // the last one
	named     map[string]bool               // by any status of the present rollout
	completed map[string]bool               // revisions that have been stable
	at        map[string]string             // revisions of nodes
	since     map[string]time.Time          // when nodes got them, at the earliest
	uncertain map[string]time.Time          // when nodes may have got what the last status gives them

	rollouts, moves int
	faults          []string
}

func (j *judge) fault(w Write, format string, args ...any) {
	j.faults = append(j.faults, fmt.Sprintf("after %s: ", w.At.Sub(j.began).Round(time.Second))+fmt.Sprintf(format, args...))
}

// doubt takes in a write of a NodeCatalog that may have been made.
func (j *judge) doubt(w Write) {
	if _, known := j.uncertain[w.Node]; !known {
		j.uncertain[w.Node] = w.At
	}
}

// move takes in a write of a NodeCatalog.
func (j *judge) move(w Write) {
	if w.Revision == "" || w.Revision == j.at[w.Node] {
		return
	}
	switch {
	case j.status == nil:
		j.fault(w, "node %s gets revision %s, but the policy has no status", w.Node, w.Revision)
	case w.Created:
		j.checkJoined(w)
	case j.at[w.Node] == "" && w.Revision == j.status.Stable: // it had that already
	default:
		j.moves++
		j.checkMoved(w)
	}
	j.at[w.Node], j.since[w.Node] = w.Revision, w.At
	delete(j.uncertain, w.Node)
}

func (j *judge) checkJoined(w Write) {
	if w.Revision != j.status.Stable {
		j.fault(w, "node %s joins with revision %s, and not with the stable one, which is %s", w.Node, w.Revision, j.status.Stable)
	}
}

func (j *judge) checkMoved(w Write) {
	_, doubted := j.uncertain[w.Node] // it may have the goal already, and is named no more
	switch goal := j.goal(); {
	case w.Revision != goal:
		j.fault(w, "node %s gets revision %s, and not the goal, which is %s", w.Node, w.Revision, goal)
	case !slices.Contains(j.status.Admitting, w.Node) && !(doubted && j.named[w.Node]):
		j.fault(w, "node %s gets revision %s, but the last status does not name it", w.Node, w.Revision)
	}
}

// goal returns what the last status gives to the nodes that it names.
func (j *judge) goal() string {
	switch {
	case j.status == nil:
		return ""
	case j.status.Target != "":
		return j.status.Target
	}
	return j.status.Stable
}
