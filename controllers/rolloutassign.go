package controllers

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/conditions"
	"github.com/fettle-dev/fettle/internal/fleet/contents"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
	"github.com/fettle-dev/fettle/internal/fleet/rollout"
	"github.com/fettle-dev/fettle/internal/text"
)

// assignments are which revision each node is to have, as the statuses of the policies say. The zero value gives all nodes the newest.
type assignments struct {
	byNode     map[string]assignment         // of nodes that a policy takes, or that several do
	conditions map[string][]metav1.Condition // of the policies, by name, also those that are written later
}

// rollout returns why nodes of a policy wait.
func (a assignments) rollout(policy string) *conditions.Rollout {
	r := &conditions.Rollout{Policy: policy, Reason: v1alpha1.ReasonRollingOut, Message: "it has yet to begin"}
	if c := meta.FindStatusCondition(a.conditions[policy], v1alpha1.ConditionReady); explains(c) {
		r.Reason, r.Message = c.Reason, c.Message
	}
	r.Stalled = meta.IsStatusConditionTrue(a.conditions[policy], v1alpha1.ConditionStalled)
	return r
}

// explains reports whether the condition Ready of a policy says why nodes wait. c may be nil.
func explains(c *metav1.Condition) bool {
	return c != nil && (c.Status != metav1.ConditionTrue || c.Reason == v1alpha1.ReasonPinned)
}

// An assignment is what a node gets that a policy takes.
type assignment struct {
	want    *compiler.NodeResult
	base    *compiler.NodeResult  // what the revision that it has gives it now; the node itself causes the loss of everything else
	rollout *v1alpha1.NodeRollout // to be written with want
	waiting *nodestatus.Waiting   // nil if want is the newest
}

// sameAs reports whether nodes are to have the same as before.
func (a assignments) sameAs(before assignments) bool {
	if len(a.byNode) != len(before.byNode) {
		return false
	}
	for name, is := range a.byNode {
		if was := before.byNode[name]; was.want == nil || was.want.Digest != is.want.Digest {
			return false
		}
	}
	return true
}

// waiting returns why nodes are to have another revision than the newest.
func (a assignments) waiting(compiled *compilation) map[string]string {
	all := map[string]string{}
	for name, is := range a.byNode {
		if newest := compiled.Nodes[name]; newest != nil && is.want.Digest != newest.Digest {
			all[name] = is.revision()
		}
	}
	return all
}

// revision is "still at revision 0123456789 by RolloutPolicy prod".
func (a assignment) revision() string {
	if a.rollout == nil {
		return "still at what it had when several RolloutPolicies selected it"
	}
	return fmt.Sprintf("still at revision %s by RolloutPolicy %s", v1alpha1.ShortRevision(a.rollout.Revision), a.rollout.Policy)
}

// outstanding reports whether nodes have yet to be given what they are to have, such as after a conflict with another writer.
func (a assignments) outstanding(specs map[string]spec, h holds) bool {
	for name, is := range a.byNode {
		if specs[name].digest != is.want.Digest && h.marks[name] == nil {
			return true
		}
	}
	return false
}

// An assigner assigns revisions to nodes by the statuses of policies.
type assigner struct {
	*scope
	specs    map[string]spec
	compiled *compilation
	// admits reports whether a policy moves nodes.
	admits func(*v1alpha1.RolloutPolicy) bool
	waits  *waits
	now    time.Time
}

// assign returns what nodes are to have by the statuses of all policies, which may be newer than those of the scope.
func (a *assigner) assign(all []*v1alpha1.RolloutPolicy) assignments {
	next := assignments{byNode: map[string]assignment{}, conditions: map[string][]metav1.Condition{}}
	byName := map[string]assigningPolicy{}
	for _, policy := range all {
		byName[policy.Name] = assigningPolicy{policy, rollout.StateOf(policy.Status), a.admits(policy)}
		next.conditions[policy.Name] = policy.Status.Conditions
	}
	for name := range a.compiled.Nodes {
		switch is := a.selections[name]; {
		case is.Policy != "":
			next.byNode[name] = a.byPolicy(name, byName[is.Policy])
		case len(is.Conflict) > 0:
			next.byNode[name] = a.unmoved(name, is.Conflict)
		}
	}
	return next
}

// An assigningPolicy is a policy with what is the same for all of its nodes.
type assigningPolicy struct {
	*v1alpha1.RolloutPolicy
	state  rollout.State
	admits bool
}

// byPolicy gives a node what its revision gives it now, or the goal of its policy if it is being admitted.
func (a *assigner) byPolicy(name string, policy assigningPolicy) assignment {
	state, has, exists := policy.state, a.specs[name], a.nodeCatalogs[name] != nil
	at := locate(a.scope, name, policy.RolloutPolicy, state, has, a.compiled)
	is := assignment{want: at.result, base: at.result, rollout: record(policy.Name, state, has, exists, at.Revision, a.now)}
	if exists && slices.Contains(state.Admitting, name) && !at.AtGoal && at.goal != nil && policy.admits {
		is.want, is.rollout = at.goal, admitted(policy.Name, state, has, at, a.now)
	}
	is.rollout = withTypes(is.rollout, is.want)
	is.waiting = a.waits.of(policy.Name, explainWait(policy.RolloutPolicy, is.rollout.Revision), is.want, a.compiled.Nodes[name])
	return is
}

// unmoved leaves a node as it is that none of several policies moves.
func (a *assigner) unmoved(name string, conflict []string) assignment {
	has := a.specs[name]
	is := assignment{want: frozen(has), rollout: has.Rollout}
	switch {
	case a.nodeCatalogs[name] == nil:
		is.want = cmp.Or(a.compiled.result(a.policySet.Base(a.compiled.newest.Name), name), a.compiled.Nodes[name])
	case has.Rollout != nil && a.compiled.result(has.Rollout.Revision, name) != nil:
		is.want = a.compiled.result(has.Rollout.Revision, name)
	}
	is.base, is.rollout = is.want, withTypes(is.rollout, is.want)
	message := fmt.Sprintf("RolloutPolicies %s select it, so none moves it: let their nodeSelectors exclude each other", text.List(conflict))
	is.waiting = a.waits.of(conflict[0], message, is.want, a.compiled.Nodes[name])
	return is
}

// frozen is what a node has, of which no revision is known.
func frozen(has spec) *compiler.NodeResult {
	is := &compiler.NodeResult{Spec: has.NodeCatalogSpec, Digest: has.digest}
	if has.Rollout != nil {
		is.Types = has.Rollout.Types
	}
	return is
}

// explainWait is why a node has an earlier revision than the newest.
func explainWait(policy *v1alpha1.RolloutPolicy, revision string) string {
	line := fmt.Sprintf("still at revision %s", v1alpha1.ShortRevision(revision))
	if c := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionReady); explains(c) {
		line += fmt.Sprintf(": RolloutPolicy %s: %s", policy.Name, c.Message)
	}
	return nodestatus.Message(line)
}

// A location is which revision a node has, and what revisions give it now.
type location struct {
	rollout.Location
	result       *compiler.NodeResult // of the revision that it has, or what it has if that is not stored any more
	stable, goal *compiler.NodeResult // of the policy; nil if the revision is not stored any more
}

// locate returns which revision a node of a policy in a state has.
func locate(sc *scope, name string, policy *v1alpha1.RolloutPolicy, state rollout.State, has spec, compiled *compilation) location {
	at := location{stable: compiled.result(state.Stable, name), goal: compiled.result(state.Goal(), name)}
	origin := has.recorded()
	if newest := compiled.Nodes[name]; origin == "" && newest != nil && has.digest == newest.Digest && has.digest != digestOf(at.stable) {
		origin = compiled.newest.Name // no policy has had the node
	}
	recorded := compiled.result(origin, name)
	at.Location = rollout.Locate(state, rollout.Spec{
		Exists: sc.nodeCatalogs[name] != nil, Digest: has.digest, Revision: origin, Known: recorded != nil, Pinned: policy.Spec.Revision != "",
		Goal: digestOf(at.goal), Stable: digestOf(at.stable), Recorded: digestOf(recorded),
	})
	if at.result = compiled.result(at.Revision, name); at.result == nil {
		at.result = frozen(has)
	}
	return at
}

func digestOf(r *compiler.NodeResult) string {
	if r == nil {
		return ""
	}
	return r.Digest
}

// recorded is the revision that a spec says it was made from, "" for none.
func (s spec) recorded() string {
	if s.Rollout == nil {
		return ""
	}
	return s.Rollout.Revision
}

// record returns what a spec of a revision says about that. exists says whether the node has another one already.
func record(policy string, state rollout.State, has spec, exists bool, revision string, now time.Time) *v1alpha1.NodeRollout {
	if has.Rollout != nil && has.Rollout.Revision == revision && has.Rollout.Policy == policy {
		return has.Rollout
	}
	if !exists {
		return &v1alpha1.NodeRollout{Policy: policy, Revision: revision}
	}
	return &v1alpha1.NodeRollout{Policy: policy, Revision: revision, Since: new(metav1.NewTime(state.Since(now).UTC()))}
}

// admitted returns what a spec of the goal says about that.
func admitted(policy string, state rollout.State, has spec, at location, now time.Time) *v1alpha1.NodeRollout {
	is := *record(policy, state, has, true, state.Goal(), now)
	is.Departed = departed(policy, state, has, at)
	return &is
}

// departed returns when a node that is moved to the goal left the last revision that its policy has completed; nil if it does so now, or goes
// back to such a revision.
func departed(policy string, state rollout.State, has spec, at location) *metav1.Time {
	was := has.Rollout
	if !at.Abandoned || was == nil || was.Policy != policy || state.Completed(was.Revision) || state.Completed(state.Goal()) {
		return nil
	}
	return cmp.Or(was.Departed, was.Since)
}

// withTypes returns what a spec says about its revision with the definitions that the spec needs; nil stays nil.
func withTypes(r *v1alpha1.NodeRollout, of *compiler.NodeResult) *v1alpha1.NodeRollout {
	if r == nil || slices.Equal(r.Types, of.Types) {
		return r
	}
	is := *r
	is.Types = of.Types
	return &is
}

// waits makes what nodes wait for. Most nodes share it.
type waits struct {
	differ contents.Differ
	known  map[waitKey]*nodestatus.Waiting
}

type waitKey struct {
	policy, message string
	want, newest    *compiler.NodeResult
}

func newWaits(sc *scope, compiled *compilation) *waits {
	return &waits{contents.Differ{Entries: sc.entries(compiled)}, map[waitKey]*nodestatus.Waiting{}}
}

// of returns nil if nothing differs.
func (w *waits) of(policy, message string, want, newest *compiler.NodeResult) *nodestatus.Waiting {
	if want.Digest == newest.Digest {
		return nil
	}
	key := waitKey{policy, message, want, newest}
	if is, known := w.known[key]; known {
		return is
	}
	var is *nodestatus.Waiting
	if diff := w.differ.Diff(want.Spec, newest.Spec); len(diff.Changed) > 0 {
		is = &nodestatus.Waiting{Policy: policy, Message: message, Changed: diff.Changed, Removed: diff.Removed}
	}
	w.known[key] = is
	return is
}
