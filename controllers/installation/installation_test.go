package installation_test

import (
	"context"
	"maps"
	"net/http"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/controllers/installation"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// requests counts requests by the last two parts of their paths.
type requests struct {
	mu    sync.Mutex
	count map[string]int
}

func (r *requests) RoundTrip(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(q *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(q)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.count[path.Join(path.Base(path.Dir(q.URL.Path)), path.Base(q.URL.Path))]++
		return answer, err
	})
}

func (r *requests) counted() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.count)
}

func (r *requests) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count = map[string]int{}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestReadyManagerSendsFewRequests(t *testing.T) {
	t.Parallel()

	cfg, _ := controlplane.Start(t)
	controlplane.Install(t, cfg)
	cfg = rest.CopyConfig(cfg)
	cfg.Impersonate.UserName = "system:serviceaccount:fettle-system:fettle-manager"
	cfg.Impersonate.Groups = []string{"system:masters"}
	sent := &requests{count: map[string]int{}}
	cfg.Wrap(sent.RoundTrip)
	clock := clocktesting.NewFakeClock(time.Now())
	i, err := installation.New(cfg, clientgoscheme.Scheme, clock, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent.reset()
	go func() { _ = i.Start(t.Context()) }()
	for n := range 6 { // a minute
		eventually(t, clock.HasWaiters)
		clock.Step(10 * time.Second)
		eventually(t, func() bool { return sent.counted()["serviceaccounts/fettle-manager"] > n })
	}
	eventually(t, func() bool { return sent.counted()["fettle.dev/v1alpha1"] > 0 })
	want := map[string]int{
		"serviceaccounts/fettle-manager": 6, "clusterroles/fettle-manager-kinds": 1, "clusterrolebindings/fettle-manager-kinds": 1, "fettle.dev/v1alpha1": 1,
	}
	if diff := cmp.Diff(want, sent.counted()); diff != "" {
		t.Errorf("requests in a minute (-want +got):\n%s", diff)
	}
}

func TestOwnerIsTheManagersRole(t *testing.T) {
	t.Parallel()

	admin, _ := controlplane.Start(t)
	controlplane.Install(t, admin)
	cfg := rest.CopyConfig(admin)
	cfg.Impersonate.UserName = "system:serviceaccount:fettle-system:fettle-manager"
	cfg.Impersonate.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:fettle-system", "system:authenticated"}
	i, err := installation.New(cfg, clientgoscheme.Scheme, clocktesting.NewFakeClock(time.Now()), logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "fettle-manager-kinds"}}
	c := controlplane.Admin(t, admin)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(role), role); err != nil {
		t.Fatal(err)
	}
	got, err := i.Owner(t.Context())
	want := &metav1.OwnerReference{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "fettle-manager-kinds", UID: role.UID}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := c.Delete(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	if got, err := i.Owner(t.Context()); got != nil || err != nil {
		t.Errorf("without the role: %v, %v", got, err)
	}
}

func eventually(t *testing.T, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, patient.Limit, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatal(err)
	}
}
