package policycheck_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/controllers/policycheck"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

type (
	policy  = admissionregistrationv1.ValidatingAdmissionPolicy
	binding = admissionregistrationv1.ValidatingAdmissionPolicyBinding
)

func TestInactivePoliciesAreReported(t *testing.T) {
	t.Parallel()

	cfg, _ := controlplane.Start(t)
	controlplane.Install(t, cfg)
	admin := controlplane.Admin(t, cfg)
	c := start(t, manager(t, cfg))
	c.await(t, map[string]float64{"fettle-manager": 1, "fettle-nodeagent": 1})

	const altered = "Warning PolicyNotInForce the ValidatingAdmissionPolicy fettle-nodeagent of config/policy is missing or was changed: apply the one of this version"
	noBinding := func(actions string) string {
		return "Warning PolicyNotInForce no ValidatingAdmissionPolicyBinding of fettle-nodeagent has the validationActions " + actions + " without matchResources: apply the one of config/policy"
	}
	everything := &admissionregistrationv1.MatchResources{ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}
	for _, tt := range []struct {
		name  string
		wreck func(p *policy, b *binding)
		want  string
	}{
		{"a binding that does not audit", func(_ *policy, b *binding) { b.Spec.ValidationActions = b.Spec.ValidationActions[:1] }, noBinding("Audit")},
		{"a binding that does not deny", func(_ *policy, b *binding) { b.Spec.ValidationActions = b.Spec.ValidationActions[1:] }, noBinding("Deny")},
		{"a binding for some objects", func(_ *policy, b *binding) { b.Spec.MatchResources = everything }, noBinding("Deny and Audit")},
		{"another condition", func(p *policy, _ *binding) {
			p.Spec.MatchConditions = append(p.Spec.MatchConditions, admissionregistrationv1.MatchCondition{Name: "never", Expression: "false"})
		}, altered},
		{"another namespace", func(p *policy, _ *binding) {
			p.Spec.MatchConditions[0].Expression = strings.ReplaceAll(p.Spec.MatchConditions[0].Expression, "fettle-nodes", "acme-nodes")
		}, altered},
		{"a selector", func(p *policy, _ *binding) {
			p.Spec.MatchConstraints.ObjectSelector.MatchLabels = map[string]string{"a": "b"}
		}, altered},
		{"excluded resources", func(p *policy, _ *binding) {
			p.Spec.MatchConstraints.ExcludeResourceRules = p.Spec.MatchConstraints.ResourceRules[1:]
		}, altered},
		{"a policy that ignores errors", func(p *policy, _ *binding) { *p.Spec.FailurePolicy = admissionregistrationv1.Ignore }, altered},
		{"one validation less", func(p *policy, _ *binding) { p.Spec.Validations = p.Spec.Validations[1:] }, altered},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, b := get(t, admin, "fettle-nodeagent")
			policySpec, bindingSpec := p.DeepCopy().Spec, b.DeepCopy().Spec
			tt.wreck(p, b)
			must(t, admin.Update(t.Context(), p))
			must(t, admin.Update(t.Context(), b))
			c.await(t, map[string]float64{"fettle-manager": 1, "fettle-nodeagent": 0})
			if diff := cmp.Diff([]string{tt.want}, c.events()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			p.Spec, b.Spec = policySpec, bindingSpec
			must(t, admin.Update(t.Context(), p))
			must(t, admin.Update(t.Context(), b))
			c.await(t, map[string]float64{"fettle-manager": 1, "fettle-nodeagent": 1})
		})
	}

	if n := strings.Count(c.log.String(), `"an admission policy is not in force"`); n != 9 {
		t.Errorf("%d problems were logged, want each once:\n%s", n, c.log)
	}

	t.Run("none, and then some under other names", func(t *testing.T) {
		var renamed []client.Object
		for _, name := range []string{"fettle-manager", "fettle-nodeagent"} {
			p, b := get(t, admin, name)
			must(t, admin.Delete(t.Context(), p))
			must(t, admin.Delete(t.Context(), b))
			meta := metav1.ObjectMeta{Name: "acme-" + name}
			p.ObjectMeta, b.ObjectMeta, b.Spec.PolicyName = meta, meta, meta.Name
			renamed = append(renamed, b, p)
		}
		c.await(t, map[string]float64{"fettle-manager": 0, "fettle-nodeagent": 0})
		for _, o := range renamed {
			must(t, admin.Create(t.Context(), o))
		}
		c.await(t, map[string]float64{"fettle-manager": 1, "fettle-nodeagent": 1})
		said := c.events() // a check may come when a policy is there and its binding is not
		slices.Sort(said)
		if once := slices.Compact(slices.Clone(said)); len(once) < 2 || len(once) != len(said) {
			t.Errorf("want at least one event for each policy, and none twice:\n%s", strings.Join(said, "\n"))
		}
	})
}

func TestMissingRightToReadPoliciesIsReported(t *testing.T) {
	t.Parallel()

	cfg, _ := controlplane.Start(t)
	c := start(t, manager(t, cfg)) // without the rights that config/rbac gives it
	c.until(t, func() bool {
		return strings.Contains(c.log.String(), "cannot tell whether admission policies are in force") && strings.Contains(c.log.String(), "is forbidden")
	}, func() string { return "nothing was logged" })
	if n := strings.Count(c.log.String(), "cannot tell"); n != 1 {
		t.Errorf("it was logged %d times", n)
	}
	c.await(t, nil)
}

// A running check, whose clock the test drives.
type running struct {
	clock    *clocktesting.FakeClock
	recorder *events.FakeRecorder
	metrics  *prometheus.Registry
	log      *lines
}

func start(t *testing.T, reader client.Reader) running {
	t.Helper()
	c := running{clocktesting.NewFakeClock(time.Unix(0, 0)), events.NewFakeRecorder(100), prometheus.NewRegistry(), &lines{}}
	check, err := policycheck.New(reader, c.recorder, c.clock, funcr.New(c.log.add, funcr.Options{}), c.metrics)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- check.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		must(t, <-ended)
	})
	return c
}

// await lets time pass until the metric has these values, by policy.
func (c running) await(t *testing.T, want map[string]float64) {
	t.Helper()
	var is map[string]float64
	c.until(t, func() bool {
		is = map[string]float64{}
		families, err := c.metrics.Gather()
		must(t, err)
		for _, f := range families {
			for _, m := range f.Metric {
				is[m.Label[0].GetValue()] = m.Gauge.GetValue()
			}
		}
		return maps.Equal(want, is)
	}, func() string { return cmp.Diff(want, is) })
}

// until lets time pass until something is so.
func (c running) until(t *testing.T, done func() bool, why func() string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patient.Limit, true, func(context.Context) (bool, error) {
		c.clock.Step(10 * time.Minute)
		return done(), nil
	})
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, why(), c.log)
	}
}

// events are those since the last call.
func (c running) events() []string {
	var all []string
	for {
		select {
		case e := <-c.recorder.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

// lines are what was logged. Safe for concurrent use.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(_, args string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, args)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

// manager is a client with the rights of the manager's account.
func manager(t *testing.T, cfg *rest.Config) client.Client {
	t.Helper()
	as := rest.CopyConfig(cfg)
	as.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:fettle-system:fettle-manager", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:fettle-system", "system:authenticated"}}
	return controlplane.Admin(t, as)
}

func get(t *testing.T, admin client.Client, name string) (*policy, *binding) {
	t.Helper()
	p, b := &policy{}, &binding{}
	must(t, admin.Get(t.Context(), client.ObjectKey{Name: name}, p))
	must(t, admin.Get(t.Context(), client.ObjectKey{Name: name}, b))
	return p, b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
