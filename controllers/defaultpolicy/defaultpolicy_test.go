package defaultpolicy_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/config/rollout"
	"github.com/fettle-dev/fettle/controllers/defaultpolicy"
)

// newCluster returns one with these policies, in which the first creations fail with an error.
func newCluster(t *testing.T, failures int, all ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	must(t, v1alpha1.AddToScheme(scheme))
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if failures > 0 {
				failures--
				return errors.New("no such kind")
			}
			return c.Create(ctx, o, opts...)
		},
	}).Build()
}

func TestAManagerCreatesTheShippedPolicy(t *testing.T) {
	t.Parallel()
	shipped, err := rollout.Default()
	must(t, err)
	own := shipped.DeepCopy()
	own.Spec.Paused = true
	for name, tt := range map[string]struct {
		cluster client.Client
		want    *v1alpha1.RolloutPolicy
	}{
		"if there is none":                   {newCluster(t, 0), shipped},
		"after attempts that failed":         {newCluster(t, 2), shipped},
		"unless there is one with this name": {newCluster(t, 0, own), own},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := clocktesting.NewFakeClock(time.Unix(0, 0))
			creator, err := defaultpolicy.New(tt.cluster, clock, logr.Discard())
			must(t, err)
			done := make(chan error, 1)
			go func() { done <- creator.Start(t.Context()) }()
			for created := false; !created; {
				select {
				case err := <-done:
					must(t, err)
					created = true
				default:
					clock.Step(time.Minute)
				}
			}
			var got v1alpha1.RolloutPolicy
			must(t, tt.cluster.Get(t.Context(), client.ObjectKey{Name: v1alpha1.DefaultRolloutPolicy}, &got))
			if diff := cmp.Diff(tt.want.Spec, got.Spec); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
