package cluster

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"

	"github.com/fettle-dev/fettle/test/cluster/pki"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// The addresses of the cluster. Node n is networkPrefix.(10+n), and its pods are podPrefix.n.0/24.
const (
	networkPrefix = "10.88.0"
	gateway       = networkPrefix + ".1"
	server        = gateway + ":6443"
	podPrefix     = "10.244"
	podCIDR       = podPrefix + ".0.0/16"
	serviceCIDR   = "10.96.0.0/16"
	kubernetesIP  = "10.96.0.1"
	dnsIP         = "10.96.0.10"
)

// A ControlPlane is the processes of a control plane, which a test can stop, kill and start again.
type ControlPlane struct {
	Etcd, APIServer, ControllerManager, Scheduler *controlplane.Process
}

// all returns the processes in the order of their start.
func (p *ControlPlane) all() []*controlplane.Process {
	return []*controlplane.Process{p.Etcd, p.APIServer, p.ControllerManager, p.Scheduler}
}

// stop ends all processes, the last first.
func (p *ControlPlane) stop() {
	for _, process := range slices.Backward(p.all()) {
		process.Kill()
	}
}

// newControlPlane writes the files of a control plane and describes its processes.
func (c *Cluster) newControlPlane() error {
	sa, err := accountKey()
	if err == nil {
		err = os.WriteFile(c.file("accounts.key"), sa, 0o600)
	}
	if err != nil {
		return err
	}
	identities := []struct {
		file string
		pki.Identity
	}{
		{"apiserver", pki.Identity{Name: "kube-apiserver", Hosts: []string{"127.0.0.1", gateway, kubernetesIP, "kubernetes", "kubernetes.default", "kubernetes.default.svc"}}},
		{"kubelet-client", pki.Identity{Name: "kube-apiserver-kubelet-client", Groups: []string{"system:masters"}}},
		{"admin", pki.Identity{Name: "admin", Groups: []string{"system:masters"}}},
		{"controller-manager", pki.Identity{Name: "system:kube-controller-manager"}},
		{"scheduler", pki.Identity{Name: "system:kube-scheduler"}},
	}
	for _, id := range identities {
		certificate, key, err := c.authority.Issue(id.Identity)
		if err != nil {
			return err
		}
		kubeconfig, err := c.kubeconfig("https://"+server, certificate, key)
		if err != nil {
			return err
		}
		for suffix, content := range map[string][]byte{".crt": certificate, ".key": key, ".conf": kubeconfig} {
			if err := os.WriteFile(c.file(id.file+suffix), content, 0o600); err != nil {
				return err
			}
		}
	}
	c.ControlPlane = ControlPlane{
		Etcd:              c.process("etcd", c.etcdFlags()),
		APIServer:         c.process("kube-apiserver", c.apiServerFlags()),
		ControllerManager: c.process("kube-controller-manager", c.controllerManagerFlags()),
		Scheduler:         c.process("kube-scheduler", c.clientFlags("scheduler")),
	}
	return os.WriteFile(c.file("ca.crt"), c.authority.Certificate(), 0o644)
}

func (c *Cluster) etcdFlags() []string {
	return []string{
		"--data-dir=" + c.file("etcd"), "--unsafe-no-fsync", "--logger=zap", "--log-level=warn",
		"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379", "--listen-peer-urls=http://127.0.0.1:2380",
	}
}

func (c *Cluster) apiServerFlags() []string {
	return slices.Concat([]string{
		"--etcd-servers=http://127.0.0.1:2379", "--bind-address=0.0.0.0", "--advertise-address=" + gateway, "--secure-port=6443",
		"--service-cluster-ip-range=" + serviceCIDR, "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged",
		"--client-ca-file=" + c.file("ca.crt"), "--tls-cert-file=" + c.file("apiserver.crt"), "--tls-private-key-file=" + c.file("apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + c.file("accounts.key"), "--service-account-signing-key-file=" + c.file("accounts.key"),
		"--kubelet-certificate-authority=" + c.file("ca.crt"), "--kubelet-client-certificate=" + c.file("kubelet-client.crt"), "--kubelet-client-key=" + c.file("kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP", "--cert-dir=" + c.file("generated"),
	}, c.options.APIServerFlags)
}

func (c *Cluster) controllerManagerFlags() []string {
	return append(c.clientFlags("controller-manager"),
		"--use-service-account-credentials", "--service-account-private-key-file="+c.file("accounts.key"), "--root-ca-file="+c.file("ca.crt"),
		// A lost node is noticed after 16 s instead of 40.
		"--node-monitor-period=2s", "--node-monitor-grace-period=16s")
}

// clientFlags are the flags of the components that use the API server.
func (c *Cluster) clientFlags(identity string) []string {
	conf := c.file(identity + ".conf")
	return []string{
		"--kubeconfig=" + conf, "--authentication-kubeconfig=" + conf, "--authorization-kubeconfig=" + conf,
		"--leader-elect=false", "--bind-address=127.0.0.1", "--cert-dir=" + c.file("generated"),
	}
}

// process describes a program in the cluster's network. Its output goes to a file.
func (c *Cluster) process(name string, flags []string) *controlplane.Process {
	command := c.netns.Enter(append([]string{c.programs.Path(name)}, flags...)...)
	log := &logFile{path: filepath.Join(c.Dir, "log", name+".log")}
	return &controlplane.Process{Path: command[0], Args: command[1:], Out: log, Err: log}
}

// A logFile appends to a file, which it opens for each line.
type logFile struct{ path string }

func (l *logFile) Write(p []byte) (int, error) {
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, err
	}
	n, err := f.Write(p)
	return n, errors.Join(err, f.Close())
}

func accountKey() ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	return keyutil.MarshalPrivateKeyToPEM(key)
}

// kubeconfig returns a kubeconfig with a client certificate.
func (c *Cluster) kubeconfig(server string, certificate, key []byte) ([]byte, error) {
	return clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: server, CertificateAuthorityData: c.authority.Certificate()}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {ClientCertificateData: certificate, ClientKeyData: key}},
		Contexts:       map[string]*clientcmdapi.Context{c.options.Name: {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: c.options.Name,
	})
}

// startControlPlane starts all processes, and waits until the API server is ready.
func (c *Cluster) startControlPlane(ctx context.Context) error {
	if err := errors.Join(c.ControlPlane.Etcd.Start(), c.ControlPlane.APIServer.Start()); err != nil {
		return err
	}
	// The others exit if their roles do not exist yet.
	if err := c.WaitReady(ctx); err != nil {
		return err
	}
	return errors.Join(c.ControlPlane.ControllerManager.Start(), c.ControlPlane.Scheduler.Start())
}

// WaitReady waits until the API server is ready.
func (c *Cluster) WaitReady(ctx context.Context) error {
	return poll(ctx, "the API server to be ready", func() error {
		_, err := c.Kubectl(ctx, "get", "--raw", "/readyz")
		return err
	})
}

// poll tries until it succeeds or the context ends.
func poll(ctx context.Context, what string, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w: %w", what, ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Kubectl runs kubectl as administrator and returns its standard output.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	return c.KubectlWith(ctx, "", args...)
}

// KubectlWith is Kubectl with a standard input.
func (c *Cluster) KubectlWith(ctx context.Context, input string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.programs.Path("kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig())
	cmd.Stdin = strings.NewReader(input)
	return output(cmd)
}

// Apply applies a manifest as administrator.
func (c *Cluster) Apply(ctx context.Context, manifest string) error {
	_, err := c.KubectlWith(ctx, manifest, "apply", "-f", "-")
	return err
}

// Delete deletes the objects of a manifest and waits until they are gone. Objects that do not exist are no error.
func (c *Cluster) Delete(ctx context.Context, manifest string) error {
	_, err := c.KubectlWith(ctx, manifest, "delete", "--ignore-not-found", "-f", "-")
	return err
}
