package controlplane

import (
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Install gives a cluster what config/default gives it, but for the programs: namespaces,
// accounts, their rights, their guard and their queues. A policy takes a moment to be in force.
func Install(t T, cfg *rest.Config) {
	t.Helper()
	root, err := checkout()
	if err != nil {
		t.Fatalf("cannot find config/: %v", err)
	}
	dir, err := os.MkdirTemp("", "fettle-install-")
	if err != nil {
		t.Fatalf("cannot write a kubeconfig: %v", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // nobody misses it
	admin := filepath.Join(dir, "kubeconfig")
	if err := WriteKubeconfig(admin, cfg, ""); err != nil {
		t.Fatalf("cannot write a kubeconfig: %v", err)
	}
	config := func(name string) string { return filepath.Join(root, "config", name) }
	args := []string{"apply", "--server-side", "-f", config("default/namespace.yaml")}
	for _, folder := range []string{"rbac", "policy", "flowcontrol"} {
		args = append(args, "-f", config(folder))
	}
	Kubectl(t, admin, args...)
}

// Kubectl runs kubectl and returns what it says.
func Kubectl(t T, kubeconfig string, args ...string) string {
	t.Helper()
	assets, err := Assets()
	if err != nil {
		t.Fatalf("cannot find kubectl: %v", err)
	}
	out, err := exec.Command(filepath.Join(assets, "kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// WriteKubeconfig writes a way to a control plane into a file: as oneself for "", or, for
// an administrator, as someone else, who may do no more than that one.
func WriteKubeconfig(file string, cfg *rest.Config, as string) error {
	c := clientcmdapi.NewConfig()
	c.Clusters["test"] = &clientcmdapi.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData}
	c.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData, Token: cfg.BearerToken, Impersonate: as}
	c.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	c.CurrentContext = "test"
	return clientcmd.WriteToFile(*c, file)
}
