package reportsapi_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
	"github.com/fettle-dev/fettle/internal/fleet/questions"
	"github.com/fettle-dev/fettle/internal/fleet/reportsapi"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/freeport"
	"github.com/fettle-dev/fettle/test/fixtures/locked"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// limit is about ten times longer than any step here, and longer than an API server waits before it asks again for the documentation of
// an API that did not answer: a minute.
const limit = patient.Limit

// A fixture is an API server that forwards requests to a server of the API, for one test.
type fixture struct {
	*testing.T
	*servers
}

// servers are an API server, and the server of the API.
type servers struct {
	cfg   *rest.Config
	admin client.Client
	hub   *questions.Hub
	// address of the server of the API.
	address string
	plans   sync.Mutex                    // held by the test that makes plans: there are few at a time
	base    atomic.Pointer[planning.Base] // that plans are compared with
	// requests is the file with the requests for the API, as the API server logs them.
	requests string
	log      locked.Buffer // of the server of the API
}

var (
	suite controlplane.Suite
	// shared serves tests that leave room for others. Each uses its own nodes and users.
	shared = sync.OnceValue(func() *servers { return start(&suite) })
)

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }

// newFixture returns the shared servers.
func newFixture(t *testing.T) *fixture { return &fixture{t, shared()} }

// newPlanning returns the shared servers. No other test plans until this one ends.
func newPlanning(t *testing.T, base *planning.Base) *fixture {
	w := newFixture(t)
	w.plans.Lock()
	t.Cleanup(w.plans.Unlock)
	w.base.Store(base)
	return w
}

// newDedicatedFixture returns servers that no other test uses.
func newDedicatedFixture(t *testing.T) *fixture { return &fixture{t, start(t)} }

func start(t controlplane.T) *servers {
	t.Helper()
	dir, err := os.MkdirTemp("", "fettle-audit-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // nobody misses it
	cfg, requests := controlplane.StartAudited(t, v1alpha1.GroupVersion.Group, dir)
	controlplane.Install(t, cfg)
	address, err := freeport.Address()
	must(t, err)
	controlplane.InstallReports(t, cfg, address)
	w := &servers{cfg: cfg, requests: requests, admin: controlplane.Admin(t, cfg), hub: &questions.Hub{}, address: address}
	manager := rest.CopyConfig(cfg)
	manager.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:fettle-system:fettle-manager", Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	direct, err := client.New(manager, client.Options{})
	must(t, err)
	elected := make(chan struct{})
	close(elected)
	server := &reportsapi.Server{
		Address: address, Config: manager, Client: direct, Hub: w.hub, Elected: elected, Log: funcr.NewJSON(func(line string) { _, _ = fmt.Fprintln(&w.log, line) }, funcr.Options{}),
		Check: func(_ context.Context, node string) error {
			if node == "nobody" {
				return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("nodes").GroupResource(), node)
			}
			return nil
		},
		Base:   func(context.Context) (*planning.Base, error) { return w.base.Load(), nil },
		Leader: func(context.Context) (netip.Addr, error) { return netip.Addr{}, fmt.Errorf("this one leads") },
	}
	ctx, stop := context.WithCancel(context.Background()) //nolint:forbidigo // it outlives the test that needs it first
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		must(t, <-ended)
	})
	eventually(t, "the API is served", func() error {
		return clientOf(t, cfg).Get(ctx, client.ObjectKey{Name: "nobody"}, &v1alpha1.NodeDiff{})
	}, apierrors.IsNotFound)
	return w
}

// eventually repeats a request until its error is as expected.
func (w *fixture) eventually(what string, request func() error, expected func(error) bool) {
	w.Helper()
	eventually(w, what, request, expected)
}

func eventually(t controlplane.T, what string, request func() error, expected func(error) bool) {
	t.Helper()
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) { //nolint:forbidigo // an API server tells nobody when an APIService is available
		if err = request(); expected(err) {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

func (w *fixture) client(cfg *rest.Config) client.WithWatch {
	w.Helper()
	return clientOf(w, cfg)
}

func clientOf(t controlplane.T, cfg *rest.Config) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	must(t, v1alpha1.AddToScheme(scheme))
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme})
	must(t, err)
	return c
}

// user is a client of a user with the roles of config/reports, or without.
func (w *fixture) user(name string) client.WithWatch {
	w.Helper()
	cfg := rest.CopyConfig(w.cfg)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
	return w.client(cfg)
}

// agent is a client with the token of an agent on a node.
func (w *fixture) agent(node string) client.WithWatch {
	w.Helper()
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	must(w.T, w.admin.Create(w.Context(), o))
	token, err := controlplane.AgentToken(w.Context(), w.admin, o)
	must(w.T, err)
	return w.withToken(token)
}

func (w *fixture) withToken(token string) client.WithWatch {
	w.Helper()
	cfg := rest.AnonymousClientConfig(w.cfg)
	cfg.BearerToken = token
	return w.client(cfg)
}

// answers has an agent answer every question.
func (w *fixture) answers(agent client.WithWatch, answer func(*v1alpha1.NodeQuestion) *v1alpha1.NodeAnswer) {
	w.Helper()
	questions, err := agent.Watch(w.Context(), &v1alpha1.NodeQuestionList{})
	must(w.T, err)
	w.Cleanup(questions.Stop)
	go func() {
		for event := range questions.ResultChan() {
			q, ok := event.Object.(*v1alpha1.NodeQuestion)
			if !ok {
				return
			}
			a := answer(q)
			a.Name = q.Name
			if err := agent.SubResource(v1alpha1.SubresourceAnswer).Create(w.Context(), q, a); err != nil && w.Context().Err() == nil {
				w.Logf("the answer is refused: %v", err)
			}
		}
	}()
}

func must(t controlplane.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}
