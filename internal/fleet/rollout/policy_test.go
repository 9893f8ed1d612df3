package rollout_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout"
)

func TestPolicyOf(t *testing.T) {
	t.Parallel()

	three, half, ten := new(intstr.FromInt32(3)), new(intstr.FromString("50%")), new(intstr.FromString("10%"))
	type limits struct {
		First, MaxInFlight, MaxFailed int
		Soak, Timeout                 time.Duration
	}
	for name, tt := range map[string]struct {
		spec v1alpha1.RolloutPolicySpec
		n    int
		want limits
	}{
		"an empty spec has the defaults":                     {v1alpha1.RolloutPolicySpec{}, 101, limits{1, 26, 2, 2 * time.Minute, 10 * time.Minute}},
		"no number is less than one, but for that of faults": {v1alpha1.RolloutPolicySpec{}, 0, limits{1, 1, 0, 2 * time.Minute, 10 * time.Minute}},
		"percentages are rounded up, but for that of faults": {
			v1alpha1.RolloutPolicySpec{First: half, MaxInFlight: half, MaxFailed: half}, 5, limits{3, 3, 2, 2 * time.Minute, 10 * time.Minute},
		},
		"numbers are absolute": {
			v1alpha1.RolloutPolicySpec{First: three, MaxInFlight: three, MaxFailed: three}, 1000, limits{3, 3, 3, 2 * time.Minute, 10 * time.Minute},
		},
		"absent, maxInFlight is first if that is more": {v1alpha1.RolloutPolicySpec{First: half}, 8, limits{4, 4, 0, 2 * time.Minute, 10 * time.Minute}},
		"set, it is what it is set to":                 {v1alpha1.RolloutPolicySpec{First: half, MaxInFlight: ten}, 8, limits{4, 1, 0, 2 * time.Minute, 10 * time.Minute}},
		"times are as written": {
			v1alpha1.RolloutPolicySpec{Soak: &metav1.Duration{Duration: time.Hour}, Timeout: &metav1.Duration{Duration: time.Minute}},
			8,
			limits{1, 2, 0, time.Hour, time.Minute},
		},
		"an invalid number, which the API server refuses, is the strictest": {
			v1alpha1.RolloutPolicySpec{First: new(intstr.FromString("all")), MaxInFlight: new(intstr.FromInt32(-1)), MaxFailed: new(intstr.FromString("x"))},
			8,
			limits{1, 1, 0, 2 * time.Minute, 10 * time.Minute},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := rollout.PolicyOf(tt.spec)
			got := limits{p.FirstOf(tt.n), p.MaxInFlightOf(tt.n), p.MaxFailedOf(tt.n), p.Soak, p.Timeout}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
