//go:build rare

package chaos_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/program"
)

// A manager is the real program with the permissions of its service account.
type manager struct {
	*controlplane.Process
	log      string
	restarts atomic.Int32
}

// restartDelay is the delay before a manager is restarted.
const restartDelay = time.Second

// buildManager builds the manager and returns its path.
func buildManager(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(dir, "manager")
	program.Build(t, "manager", file)
	return file
}

// writeManagerKubeconfig writes the manager's kubeconfig.
func (f *fixture) writeManagerKubeconfig(t *testing.T) (kubeconfig string) {
	t.Helper()
	set, err := kubernetes.NewForConfig(f.plane.Config)
	must(t, err)
	token, err := set.CoreV1().ServiceAccounts("fettle-system").CreateToken(t.Context(), "fettle-manager", &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(24 * 60 * 60))},
	}, metav1.CreateOptions{})
	must(t, err)
	cfg := rest.AnonymousClientConfig(f.plane.Config)
	cfg.BearerToken = token.Status.Token
	file := filepath.Join(f.dir, "kubeconfig")
	must(t, controlplane.WriteKubeconfig(file, cfg, ""))
	return file
}

// manager returns a manager that is not started yet. It ends with the test.
func (f *fixture) manager(t *testing.T, name string, args ...string) *manager {
	t.Helper()
	m := &manager{log: filepath.Join(f.dir, name+".log")}
	log, err := os.Create(m.log)
	must(t, err)
	m.Process = &controlplane.Process{
		Path: f.program, Err: log,
		Args: append([]string{"-kubeconfig", f.kubeconfig, "-metrics-bind-address", "0", "-health-probe-bind-address", "0", "-lease-duration", f.lease.String()}, args...),
	}
	t.Cleanup(func() {
		m.Stop()
		if t.Failed() {
			t.Logf("the end of what %s logged:\n%s", name, tail(m.log))
		}
		_ = log.Close() // it has been written
	})
	return m
}

// keepRunning restarts the manager whenever it ends, like a kubelet, until the test ends.
func (m *manager) keepRunning(t *testing.T) {
	t.Helper()
	done := make(chan struct{})
	t.Cleanup(func() { <-done }) // runs before the manager's own cleanup, so that the manager is not restarted
	go func() {
		defer close(done)
		for {
			select {
			case <-m.Ended():
			case <-t.Context().Done():
				return
			}
			wait(t.Context(), restartDelay)
			if t.Context().Err() != nil || m.Start() != nil {
				return
			}
			m.restarts.Add(1)
		}
	}()
}

func tail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.SplitAfter(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "")
}
