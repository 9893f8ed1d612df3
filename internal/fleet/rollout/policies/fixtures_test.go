package policies_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout/policies"
)

// now is a Friday.
var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// r1 to r4 are revisions, from the oldest to the newest.
var r1, r2, r3, r4 = revision("1"), revision("2"), revision("3"), revision("4")

func revision(digit string) string { return "sha256-" + strings.Repeat(digit, 64) }

// newPolicy returns a policy that selects the nodes with tier=NAME. spec is YAML.
func newPolicy(t *testing.T, name, spec string) *v1alpha1.RolloutPolicy {
	t.Helper()
	p := &v1alpha1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		t.Fatal(err)
	}
	return p
}

// at sets the stable revision, and those that were completed before it by rollouts that ended an hour after each other, the earliest first.
// The last one ended at the hour. Each took half an hour.
func at(p *v1alpha1.RolloutPolicy, stable string, hour int, completed ...string) *v1alpha1.RolloutPolicy {
	p.Status.Stable = stable
	for i := range completed {
		i = len(completed) - 1 - i
		p.Status.History = append(p.Status.History, completedAt(completed[i], hour-len(completed)+1+i, 30*time.Minute))
	}
	return p
}

// completedAt returns the record of a rollout that ended at an hour and took so long.
func completedAt(revision string, hour int, took time.Duration) v1alpha1.RolloutRecord {
	ended := now.Add(time.Duration(hour) * time.Hour)
	return v1alpha1.RolloutRecord{Revision: revision, Outcome: v1alpha1.RolloutCompleted, Started: metav1.NewTime(ended.Add(-took)), Ended: metav1.NewTime(ended)}
}

func setOf(all ...*v1alpha1.RolloutPolicy) *policies.Set { return policies.New(all) }

// gate adds a condition that something else sets.
func gate(p *v1alpha1.RolloutPolicy, kind string, status metav1.ConditionStatus) *v1alpha1.RolloutPolicy {
	p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "Tests", Message: "2 of 3 passed"})
	return p
}
