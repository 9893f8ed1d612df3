package rollout_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/fleet"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

var suite controlplane.Suite

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }

// An outcome is the visible result of one call.
type outcome struct {
	out, err string
	code     int
}

// shared returns the cluster of the tests whose policies have names of their own.
var shared = sync.OnceValue(func() *cluster {
	cfg, _ := controlplane.Start(&suite)
	dir, err := os.MkdirTemp("", "fettle-rollout-")
	if err != nil {
		suite.Fatalf("cannot write a kubeconfig: %v", err)
	}
	suite.Cleanup(func() { _ = os.RemoveAll(dir) }) // nobody misses it
	c := &cluster{cfg, controlplane.Admin(&suite, cfg), filepath.Join(dir, "kubeconfig")}
	if err := controlplane.WriteKubeconfig(c.kubeconfig, cfg, ""); err != nil {
		suite.Fatalf("cannot write a kubeconfig: %v", err)
	}
	return c
})

// A cluster is an API server with RolloutPolicies whose statuses the test writes.
type cluster struct {
	cfg        *rest.Config
	admin      client.Client
	kubeconfig string
}

// newCluster returns a cluster of the test's own.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	cfg, _ := controlplane.Start(t)
	return &cluster{cfg, controlplane.Admin(t, cfg), kubeconfigAs(t, cfg, "")}
}

// kubeconfigAs returns a kubeconfig for a user; "" is the administrator.
func kubeconfigAs(t *testing.T, cfg *rest.Config, user string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, controlplane.WriteKubeconfig(file, cfg, user))
	return file
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs kubectl fettle in process.
func (c *cluster) run(ctx context.Context, line string) outcome {
	return c.runWords(ctx, append(strings.Fields(line), "--kubeconfig", c.kubeconfig)...)
}

func (c *cluster) runWords(ctx context.Context, args ...string) outcome {
	var out, stderr bytes.Buffer
	err := fleet.Run(ctx, fleet.Options{Streams: program.Streams{Out: &out, Err: &stderr}}, args)
	o := outcome{out: out.String(), err: stderr.String()}
	var exit output.Exit
	switch {
	case errors.As(err, &exit):
		o.code = int(exit)
	case err != nil:
		o.code, o.err = 1, o.err+"fettle: "+program.Message(err)+"\n"
	}
	return o
}

// expect compares the outcomes of lines.
func (c *cluster) expect(t *testing.T, line string, want outcome) {
	t.Helper()
	if diff := cmp.Diff(want, c.run(t.Context(), line), cmp.AllowUnexported(outcome{})); diff != "" {
		t.Errorf("%s:\n%s", line, diff)
	}
}

// put creates objects, with their statuses.
func (c *cluster) put(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		with, _ := o.DeepCopyObject().(client.Object)
		if err := c.admin.Create(t.Context(), o); !apierrors.IsAlreadyExists(err) { // as revisions of other tests may
			must(t, err)
		}
		if p, is := with.(*v1alpha1.RolloutPolicy); is {
			c.status(t, p.Name, p.Status)
		}
	}
}

// status writes the status of a policy, as the manager does.
func (c *cluster) status(t *testing.T, name string, status v1alpha1.RolloutPolicyStatus) {
	t.Helper()
	p := c.policy(t, name)
	status.ObservedGeneration = p.Generation
	p.Status = status
	must(t, c.admin.Status().Update(t.Context(), p))
}

func (c *cluster) policy(t *testing.T, name string) *v1alpha1.RolloutPolicy {
	t.Helper()
	p := &v1alpha1.RolloutPolicy{}
	must(t, c.admin.Get(t.Context(), client.ObjectKey{Name: name}, p))
	return p
}

// Revisions of the tests.
var (
	r1 = revisionName("01")
	r2 = revisionName("02")
	r3 = revisionName("03")
)

func revisionName(digits string) string { return "sha256-" + strings.Repeat(digits, 64/len(digits)) }

// policy is a RolloutPolicy with a status.
func policy(name string, status v1alpha1.RolloutPolicyStatus) *v1alpha1.RolloutPolicy {
	return &v1alpha1.RolloutPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.RolloutPolicySpec{NodeSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": name}}},
		Status:     status,
	}
}

// condition is a condition of a policy.
func condition(kind, reason, message string, is metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: kind, Status: is, Reason: reason, Message: message, LastTransitionTime: ago(time.Hour)}
}

func ready(reason, message string) []metav1.Condition {
	return []metav1.Condition{condition(v1alpha1.ConditionReady, reason, message, metav1.ConditionTrue)}
}

func notReady(reason, message string) []metav1.Condition {
	return []metav1.Condition{condition(v1alpha1.ConditionReady, reason, message, metav1.ConditionFalse)}
}

func stalled(reason, message string) []metav1.Condition {
	return append(notReady(reason, message), condition(v1alpha1.ConditionStalled, reason, message, metav1.ConditionTrue))
}

// began is when the tests began.
var began = time.Now().Truncate(time.Second)

const day = 24 * time.Hour

func ago(d time.Duration) metav1.Time { return metav1.NewTime(began.Add(-d)) }

// record is a rollout that took ten minutes.
func record(revision string, outcome v1alpha1.RolloutOutcome, ended time.Duration) v1alpha1.RolloutRecord {
	return v1alpha1.RolloutRecord{
		Revision: revision, Outcome: outcome, Started: ago(ended + 10*time.Minute), Ended: ago(ended),
		Nodes: v1alpha1.RolloutNodes{Total: 5, Affected: 4, Admitted: 4, Proven: 3, Failed: 1},
	}
}

// revision is a stored CatalogRevision without resources.
func revision(name string) *v1alpha1.CatalogRevision {
	return &v1alpha1.CatalogRevision{ObjectMeta: metav1.ObjectMeta{Name: name}, Targets: []v1alpha1.RevisionTarget{}}
}
