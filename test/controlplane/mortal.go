package controlplane

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/fettle-dev/fettle/config/crd"
)

// A Mortal is a control plane whose processes are the caller's to kill, to start again with all that they had, and to
// stop for a while.
type Mortal struct {
	Etcd, APIServer *Process
	// Config is a cluster administrator's way in, with no limit of its own.
	Config *rest.Config
}

// audit has the API server write down who asked for what, when that came, and how it was answered.
const audit = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [ResponseStarted]
rules:
  - level: Metadata
    users:
      - system:serviceaccount:fettle-system:fettle-manager
      - system:serviceaccount:fettle-nodes:fettle-nodeagent
  - level: None
`

// StartMortal starts one with the kinds of fettle.dev. The API server writes to requests, as JSON by lines, what manager
// and agents ask of it under their own names. It goes away with the test.
func StartMortal(t T, requests io.Writer) *Mortal {
	t.Helper()
	dir, err := os.MkdirTemp(Memory(), "fettle-controlplane-")
	if err != nil {
		t.Fatalf("cannot make a folder: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // in memory, or nobody misses it
	m, err := newMortal(dir, requests)
	if err != nil {
		t.Fatalf("cannot prepare a control plane: %v", err)
	}
	t.Cleanup(func() {
		m.APIServer.Kill()
		m.Etcd.Kill()
	})
	if err := m.start(); err != nil {
		t.Fatalf("cannot start a control plane: %v", err)
	}
	return m
}

// Memory is a directory whose writes reach no disk; "" where there is none.
func Memory() string {
	if _, err := os.Stat("/dev/shm"); err != nil {
		return ""
	}
	return "/dev/shm"
}

func newMortal(dir string, requests io.Writer) (*Mortal, error) {
	assets, err := Assets()
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	url := func(scheme string, n int) string { return fmt.Sprintf("%s://127.0.0.1:%d", scheme, ports[n]) }
	file := func(name string) string { return filepath.Join(dir, name) }
	cfg := &rest.Config{Host: url("https", 2), BearerToken: rand.Text(), QPS: -1, DisableCompression: true}
	if err := identify(file, cfg); err != nil {
		return nil, err
	}
	return &Mortal{
		Config: cfg,
		Etcd: &Process{Path: filepath.Join(assets, "etcd"), Args: []string{
			"--data-dir=" + file("etcd"), "--unsafe-no-fsync",
			"--listen-client-urls=" + url("http", 0), "--advertise-client-urls=" + url("http", 0), "--listen-peer-urls=" + url("http", 1),
		}},
		APIServer: &Process{Path: filepath.Join(assets, "kube-apiserver"), Out: requests, Args: []string{
			"--etcd-servers=" + url("http", 0), "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[2]),
			"--tls-cert-file=" + file("server.crt"), "--tls-private-key-file=" + file("server.key"),
			"--token-auth-file=" + file("tokens.csv"), "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount",
			"--service-account-issuer=" + url("https", 2), "--service-account-key-file=" + file("accounts.key"),
			"--service-account-signing-key-file=" + file("accounts.key"), "--service-cluster-ip-range=10.0.0.0/24", "--allow-privileged",
			"--endpoint-reconciler-type=none", "--audit-policy-file=" + file("audit.yaml"), "--audit-log-path=-",
		}},
	}, nil
}

// identify writes what the API server is known by, and what it knows others by.
func identify(file func(string) string, cfg *rest.Config) error {
	var key, accounts []byte
	var err error
	if cfg.CAData, key, err = cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil); err != nil {
		return err
	}
	if accounts, err = keyutil.MakeEllipticPrivateKeyPEM(); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"server.crt": cfg.CAData, "server.key": key, "accounts.key": accounts, "audit.yaml": []byte(audit),
		"tokens.csv": []byte(cfg.BearerToken + `,admin,admin,"system:masters"` + "\n"),
	} {
		if err := os.WriteFile(file(name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// freePorts are ports that nobody listens on.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed before anything could wait
		if err != nil {
			return nil, err
		}
		defer l.Close() //nolint:errcheck // nothing came through it
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

func (m *Mortal) start() error {
	if err := m.Etcd.Start(); err != nil {
		return err
	}
	if err := m.APIServer.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if err := m.Ready(ctx); err != nil {
		return err
	}
	kinds, err := crd.All()
	if err != nil {
		return err
	}
	_, err = envtest.InstallCRDs(m.Config, envtest.CRDInstallOptions{CRDs: kinds})
	return err
}

// Ready waits until the API server answers as it should.
func (m *Mortal) Ready(ctx context.Context) error {
	c, err := rest.HTTPClientFor(m.Config)
	if err != nil {
		return err
	}
	defer c.CloseIdleConnections()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if answers(ctx, c, m.Config.Host+"/readyz") {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server is not ready: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

func answers(ctx context.Context, c *http.Client, url string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	answer, err := c.Do(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}
