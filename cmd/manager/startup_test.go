package main_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// readyz returns the answer of a manager's readiness probe.
func (p *process) readyz(t *testing.T) (int, string) {
	t.Helper()
	code, _, body := read(t, "http://"+p.probes+"/readyz", "")
	return code, body
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func TestManagerWaitsForTheAPIServer(t *testing.T) {
	t.Parallel()

	m := controlplane.StartMortal(t, io.Discard)
	controlplane.Install(t, m.Config)
	m.APIServer.Kill()
	begin := time.Now()
	p := startManager(t, build(t), kubeconfig(t, m.Config, ""))
	const attempts = 4 // after 0, 1, 3 and 7 seconds
	eventually(t, "some attempts", func() bool { return strings.Count(p.log.String(), `"msg":"waiting"`) >= attempts })
	if waited := time.Since(begin); waited < 5*time.Second {
		t.Errorf("%d attempts took %s: they do not back off", attempts, waited)
	}
	if code, _ := get(t, "http://"+p.probes+"/healthz", ""); code != http.StatusOK {
		t.Errorf("/healthz answers %d", code)
	}
	if code, why := p.readyz(t); code != http.StatusServiceUnavailable || !strings.Contains(why, "cannot reach the API server") {
		t.Errorf("/readyz answers %d: %s", code, why)
	}
	if err := m.APIServer.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the manager to lead", p.leads)
	eventually(t, "the manager to be ready", p.ready)
	if !p.running() {
		t.Errorf("the manager ended with %v", p.err)
	}
}

func TestManagerCreatesTheDefaultPolicy(t *testing.T) {
	t.Parallel()

	c := newCluster(t)
	p := c.start("fettle-manager", "--default-rollout-policy")
	eventually(t, "the manager to lead", p.leads)
	eventually(t, "the policy", func() bool {
		return c.admin.Get(t.Context(), client.ObjectKey{Name: v1alpha1.DefaultRolloutPolicy}, &v1alpha1.RolloutPolicy{}) == nil
	})
}

func TestManagerWithoutDefinitionsIsNotReady(t *testing.T) {
	t.Parallel()

	c := newCluster(t)
	controlplane.Kubectl(t, c.config, "delete", "crd", "files.fettle.dev")
	p := c.start("fettle-manager")
	missing := func() bool {
		code, why := p.readyz(t)
		return code == http.StatusServiceUnavailable && strings.Contains(why, "File is missing")
	}
	eventually(t, "a manager that starts to miss the definition", missing)
	c.install()
	eventually(t, "the manager to be ready", p.ready)

	// While it runs, and leads.
	eventually(t, "the manager to lead", p.leads)
	if err := c.admin.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}); err != nil {
		t.Fatal(err)
	}
	c.manage("a")
	controlplane.Kubectl(t, c.config, "delete", "crd", "files.fettle.dev")
	eventually(t, "a manager that runs to miss the definition", missing)
	c.install()
	eventually(t, "the manager to be ready again", p.ready)
	c.manage("b")
	if !p.running() {
		t.Errorf("the manager ended with %v", p.err)
	}
}
