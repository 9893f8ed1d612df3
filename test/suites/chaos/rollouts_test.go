//go:build rare

package chaos_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/suites/chaos/audit"
)

// Good and bad changes are rolled out while managers, the API server and etcd are interrupted. What managers wrote is judged from
// the API server's audit log, and how far bad changes got from what hosts were asked to do.
func TestRolloutsKeepTheirLimitsDespiteFailures(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	f := newFixture(t)
	managers := f.startManagers(t)
	f.awaitConvergence(t)
	p := &pacedFleet{fixture: f, managers: managers, limits: limitsOf(f.nodes)}
	f.acceptShortSoaks(t)
	p.createPolicy(t)

	p.edit(t, "all-1", "an unrelated change")
	p.interrupt(t)
	p.edit(t, rolledOut, "good 1")
	p.interrupt(t)
	p.awaitRolledOut(t, "good 1")

	bad := badContent("", 1)
	p.edit(t, rolledOut, bad)
	p.interrupt(t)
	p.awaitHalted(t)
	p.checkReach(t, bad)
	p.edit(t, rolledOut, "good 2")
	p.interrupt(t)
	p.awaitRolledOut(t, "good 2")

	p.edit(t, rolledOut, badContent("1", 2)) // some nodes may prove it
	p.interrupt(t)
	p.edit(t, rolledOut, "good 3")
	p.interrupt(t)
	p.awaitRolledOut(t, "good 3")

	bad = badContent("", 3)
	p.edit(t, rolledOut, bad)
	p.interrupt(t)
	p.edit(t, rolledOut, "good 3") // a revert
	p.interrupt(t)
	p.awaitRolledOut(t, "good 3")
	p.checkReach(t, bad)
	f.awaitConvergence(t)
	p.judge(t)
}

// limitsOf returns limits of which each stops a rollout at some time: 2 nodes, 8, and then half of them at the same time.
func limitsOf(nodes int) audit.Limits {
	return audit.Limits{First: 2, MaxInFlight: nodes / 2, MaxFailed: 1, Soak: 5 * time.Second}
}

// rolledOut is the File that changes break and fix.
const rolledOut = "all-0"

// acceptShortSoaks removes the lower limit of soak from the API. That limit gives an agent which a change silences the time to be
// noticed; here, agents report what fails, and the test has no minutes. Managers are as they are.
func (f *fixture) acceptShortSoaks(t *testing.T) {
	t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	must(t, f.admin.Get(t.Context(), client.ObjectKey{Name: "rolloutpolicies.fettle.dev"}, crd))
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	must(t, err)
	path := []string{"schema", "openAPIV3Schema", "properties", "spec", "x-kubernetes-validations"}
	version := versions[0].(map[string]any)
	rules, _, err := unstructured.NestedSlice(version, path...)
	must(t, err)
	var others []any
	for _, r := range rules {
		if r.(map[string]any)["fieldPath"] != ".soak" {
			others = append(others, r)
		}
	}
	if len(others) != len(rules)-1 {
		t.Fatalf("%d of %d rules are not about soak", len(others), len(rules))
	}
	must(t, unstructured.SetNestedSlice(version, others, path...))
	must(t, unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"))
	must(t, f.admin.Update(t.Context(), crd))
}

// A pacedFleet is a fixture whose nodes one RolloutPolicy takes.
type pacedFleet struct {
	*fixture
	managers []*manager
	limits   audit.Limits
	counts   [len(interruptions)]int
	phases   int // in which something was interrupted
}

// createPolicy creates the policy, and waits until it is at rest. The API server takes a moment to accept a short soak.
func (p *pacedFleet) createPolicy(t *testing.T) {
	t.Helper()
	number := func(n int) *intstr.IntOrString { return new(intstr.FromInt(n)) }
	policy := &v1alpha1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.DefaultRolloutPolicy}}
	policy.Spec = v1alpha1.RolloutPolicySpec{
		NodeSelector: &metav1.LabelSelector{}, Soak: &metav1.Duration{Duration: p.limits.Soak},
		First: number(p.limits.First), MaxInFlight: number(p.limits.MaxInFlight), MaxFailed: number(p.limits.MaxFailed),
	}
	p.eventually(t, "the policy is accepted", func() bool { return p.admin.Create(t.Context(), policy.DeepCopy()) == nil })
	p.eventually(t, "the policy is at rest", func() bool { return p.atRest(t.Context()) })
}

// policy returns the policy; ok is false if the API server does not answer.
func (p *pacedFleet) policy(ctx context.Context) (policy v1alpha1.RolloutPolicy, ok bool) {
	err := p.admin.Get(ctx, client.ObjectKey{Name: v1alpha1.DefaultRolloutPolicy}, &policy)
	return policy, err == nil
}

func (p *pacedFleet) atRest(ctx context.Context) bool {
	is, ok := p.policy(ctx)
	return ok && is.Status.Target == "" && is.Status.Pending == "" && meta.IsStatusConditionTrue(is.Status.Conditions, v1alpha1.ConditionReady)
}

func (p *pacedFleet) edit(t *testing.T, file, content string) {
	t.Helper()
	t.Logf("%s gets %q", file, content)
	p.eventually(t, "an edit is accepted", func() bool { return p.patchFile(t.Context(), file, "content", content) == nil })
}

// awaitRolledOut waits until every host has a content, and the policy is at rest.
func (p *pacedFleet) awaitRolledOut(t *testing.T, content string) {
	t.Helper()
	began := time.Now()
	p.eventually(t, content+" is everywhere", func() bool {
		for _, m := range p.machines {
			if m.content("/etc/"+rolledOut) != content {
				return false
			}
		}
		return p.atRest(t.Context())
	})
	t.Logf("%q is everywhere after another %s", content, time.Since(began).Round(time.Second))
}

func (p *pacedFleet) awaitHalted(t *testing.T) {
	t.Helper()
	p.eventually(t, "the rollout halts", func() bool {
		is, ok := p.policy(t.Context())
		c := meta.FindStatusCondition(is.Status.Conditions, v1alpha1.ConditionReady)
		return ok && c != nil && c.Reason == v1alpha1.ReasonRolloutHalted
	})
}

// checkReach checks how many hosts were asked for a content that is bad on all of them: the first ones, and one more for each that may
// fail.
func (p *pacedFleet) checkReach(t *testing.T, content string) {
	t.Helper()
	reached := 0
	for _, m := range p.machines {
		if m.rejects(content) {
			reached++
		}
	}
	t.Logf("%q reached %d nodes", content, reached)
	if most := p.limits.First + p.limits.MaxFailed; reached > most {
		t.Errorf("%q reached %d nodes, at most %d may get it", content, reached, most)
	}
}

// interruptions are what is interrupted.
var interruptions = [...]string{"the managers", "the API server", "etcd"}

// allPhases is how often a test calls interrupt, which divides the kills of managers among these calls.
const allPhases = 8

// order returns what is interrupted in the next phase, as indices of interruptions.
func (p *pacedFleet) order() (all []int) {
	kills := p.kills*(p.phases+1)/allPhases - p.kills*p.phases/allPhases
	p.phases++
	all = make([]int, kills) // of the managers
	for range max(p.turns-kills, p.turns/2, 1) {
		all = append(all, 1+p.random.IntN(len(interruptions)-1))
	}
	p.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// interrupt interrupts something, at random moments. Every other one is while nodes are moved, which is a small part of a rollout.
func (p *pacedFleet) interrupt(t *testing.T) {
	t.Helper()
	for turn, what := range p.order() {
		const longest = 20 * time.Second
		if turn%2 == 0 {
			wait(t.Context(), p.randomDelay(longest))
		} else {
			p.awaitAdmission(t.Context(), longest)
			wait(t.Context(), p.randomDelay(50*time.Millisecond))
		}
		p.counts[what]++
		away := p.randomDelay(p.outage / 2)
		t.Logf("%s: interrupted", interruptions[what])
		p.interrupted.Store(true)
		switch what {
		case 0:
			for _, m := range p.managers {
				m.Kill()
			}
		case 1:
			p.plane.APIServer.Kill()
			wait(t.Context(), away)
			must(t, p.plane.APIServer.Start())
		case 2:
			p.plane.Etcd.Pause()
			wait(t.Context(), away)
			p.plane.Etcd.Resume()
		}
		must(t, p.plane.Ready(t.Context()))
		p.interrupted.Store(false)
	}
}

// awaitAdmission waits until a status is written that names nodes, or for a time.
func (p *pacedFleet) awaitAdmission(ctx context.Context, longest time.Duration) {
	mark, began := p.requests.mark(), time.Now()
	for time.Since(began) < longest && !slices.ContainsFunc(p.requests.since(mark), func(req request) bool {
		return req.answered && req.write != nil && req.write.Status != nil && len(req.write.Status.Admitting) > 0
	}) {
		wait(ctx, time.Millisecond)
	}
}

// judge judges what managers wrote, and checks that the log is whole.
func (p *pacedFleet) judge(t *testing.T) {
	t.Helper()
	writes := p.requests.writes()
	for len(writes) > 0 && writes[0].Status == nil { // there was no policy yet
		writes = writes[1:]
	}
	v := audit.Judge(writes, p.limits)
	if len(v.Faults) > 0 {
		t.Errorf("what managers wrote breaks rules:\n%s", strings.Join(v.Faults, "\n"))
	}
	if p.phases != allPhases {
		t.Errorf("there were %d phases, so not all managers were killed", p.phases)
	}
	const rollouts = 4 // at least: those of good changes, and one bad change
	if v.Rollouts < rollouts || v.Moves < 3*p.nodes {
		t.Errorf("the log has only %d rollouts and %d moves", v.Rollouts, v.Moves)
	}
	s, err := p.takeSnapshot(t.Context())
	must(t, err)
	for name, nc := range s.nodeCatalogs {
		if r := nc.Spec.Rollout; r == nil || r.Revision != v.Revisions[name] && !v.Uncertain[name] {
			t.Errorf("NodeCatalog %s has %+v, but by the log revision %q", name, r, v.Revisions[name])
		}
	}
	t.Logf("%d writes: %d rollouts and %d moves, %d of them uncertain, with interruptions of %v: %v", len(writes), v.Rollouts, v.Moves, len(v.Uncertain), interruptions, p.counts)
}
