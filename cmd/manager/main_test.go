package main_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/freeport"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
	"github.com/fettle-dev/fettle/test/fixtures/program"
)

// build builds the command.
func build(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "manager")
	program.Make(t, "cmd/manager", bin)
	return bin
}

// kubeconfig writes a kubeconfig for a service account or, if that is "", for an administrator.
func kubeconfig(t *testing.T, cfg *rest.Config, as string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := controlplane.WriteKubeconfig(file, cfg, as); err != nil {
		t.Fatal(err)
	}
	return file
}

// get returns the status and protocol of a response; 0 if there is none.
func get(t *testing.T, url, token string) (int, string) {
	t.Helper()
	code, proto, _ := read(t, url, token)
	return code, proto
}

// read is like get and also returns the body.
func read(t *testing.T, url, token string) (code int, proto, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // self-signed
		ForceAttemptHTTP2: true,
	}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, "", ""
	}
	return resp.StatusCode, resp.Proto, string(text)
}

// takesLargeHeaders reports whether a server that does not know who asks reads a header of 128 KiB.
func takesLargeHeaders(t *testing.T, url string) bool {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // self-signed
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Large", strings.Repeat("x", 128<<10))
	resp, err := client.Do(req)
	if err != nil {
		return false // it closed the connection
	}
	defer resp.Body.Close()
	return resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge
}

// install creates the service accounts and their permissions in a cluster, and those of a metrics scraper.
func install(t *testing.T, cfg *rest.Config, admin string) {
	t.Helper()
	controlplane.Install(t, cfg)
	for _, args := range [][]string{
		{"create", "serviceaccount", "scraper"},
		{"create", "serviceaccount", "stranger"},
		{"create", "clusterrolebinding", "scraper", "--clusterrole=fettle-metrics-reader", "--serviceaccount=default:scraper"},
	} {
		controlplane.Kubectl(t, admin, args...)
	}
}

// token returns a new token of a service account in the namespace default.
func token(t *testing.T, admin, account string) string {
	t.Helper()
	return strings.TrimSpace(controlplane.Kubectl(t, admin, "create", "token", account))
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	patient.Until(t, what, done)
}

func TestManagerServesLeadsAndShutsDown(t *testing.T) {
	t.Parallel()

	cfg, _ := controlplane.Start(t)
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	leader := func() string {
		lease, err := client.CoordinationV1().Leases("fettle-system").Get(t.Context(), "fettle-manager", metav1.GetOptions{})
		if err != nil || lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	metrics, probes := freeport.AddressFor(t), freeport.AddressFor(t)
	var log strings.Builder
	admin := kubeconfig(t, cfg, "")
	install(t, cfg, admin)
	own := kubeconfig(t, cfg, "system:serviceaccount:fettle-system:fettle-manager")
	manager := exec.CommandContext(t.Context(), build(t), "--kubeconfig", own, "--leader-elect", "--leader-elect-namespace=fettle-system",
		"--metrics-bind-address="+metrics, "--health-probe-bind-address="+probes, "--open-reports")
	manager.Stderr = &log
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log.String())
		}
	})
	if err := manager.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the manager to lead", func() bool { return leader() != "" })
	for _, path := range []string{"/healthz", "/readyz"} {
		eventually(t, path, func() bool { code, _ := get(t, "http://"+probes+path, ""); return code == http.StatusOK })
	}
	eventually(t, "the metrics", func() bool { code, _ := get(t, "https://"+metrics+"/metrics", ""); return code != 0 })
	for who, tt := range map[string]struct {
		token string
		want  int
	}{
		"nobody":                        {"", http.StatusUnauthorized},
		"an account without permission": {token(t, admin, "stranger"), http.StatusForbidden},
		"an account with the role":      {token(t, admin, "scraper"), http.StatusOK},
	} {
		if code, proto := get(t, "https://"+metrics+"/metrics", tt.token); code != tt.want || proto != "HTTP/1.1" {
			t.Errorf("metrics for %s: status %d over %s, want %d over HTTP/1.1", who, code, proto, tt.want)
		}
	}
	for _, url := range []string{"http://" + probes + "/healthz", "https://" + metrics + "/metrics"} {
		if takesLargeHeaders(t, url) {
			t.Errorf("%s reads a header of 128 KiB", url)
		}
	}
	scraper := token(t, admin, "scraper")
	for _, policy := range []string{"fettle-manager", "fettle-nodeagent"} {
		eventually(t, "the policy "+policy+" to be found", func() bool {
			_, _, body := read(t, "https://"+metrics+"/metrics", scraper)
			return strings.Contains(body, fmt.Sprintf("fettle_admission_policy_in_force{policy=%q} 1\n", policy))
		})
	}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, sample := range []string{`fettle_fleet_nodes{state="Pending"} 1`, `fettle_fleet_nodes{state="Silent"} 0`, `fettle_fleet_resources{kind="File",state="Ready"} 0`, `fettle_fleet_resources{kind="File",state="Stalled"} 0`} {
		eventually(t, sample, func() bool {
			_, _, body := read(t, "https://"+metrics+"/metrics", scraper)
			return strings.Contains(body, sample+"\n")
		})
	}
	if err := manager.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := manager.Wait(); err != nil {
		t.Errorf("the manager exited with %v:\n%s", err, log.String())
	}
	if !strings.Contains(log.String(), "cannot write reports for nodes") { // there is no right to write them
		t.Errorf("no reports of OpenReports are written:\n%s", log.String())
	}
	if who := leader(); who != "" {
		t.Errorf("the manager exited without releasing the lease of %s", who)
	}
	for line := range strings.Lines(log.String()) {
		if !strings.HasPrefix(line, `{"time":`) {
			t.Errorf("a log line is not JSON: %s", line)
		}
	}
}

func TestManagerReportsInvalidFlags(t *testing.T) {
	t.Parallel()

	bin := build(t)
	for name, tt := range map[string]struct{ argument, want string }{
		"an argument":                     {"now", `manager: unexpected argument "now": the manager accepts flags only, see -help`},
		"an unknown flag":                 {"--noop", "flag provided but not defined: -noop"},
		"a short lease":                   {"--lease-duration=1s", "manager: -lease-duration 1s is invalid: use whole seconds from 10s to 1h"},
		"a lease with fractional seconds": {"--lease-duration=10.5s", "manager: -lease-duration 10.5s is invalid: use whole seconds from 10s to 1h"},
		"no requests":                     {"--kube-api-qps=0", "manager: -kube-api-qps 0 and -kube-api-burst 400 allow no requests: use more than 0, and 1 or more"},
		"an invalid percentage":           {"--max-deselection=101", "manager: -max-deselection 101 is not a percentage: use 0 to 100"},
		"a password for the webhook":      {"--events-url=https://ann:SECRET@example.com", "manager: -events-url or -events-source is invalid: the address of the webhook contains a user or a password, which everyone could read who sees the manager's flags: leave them out"},
		"a missing kubeconfig":            {"--kubeconfig=/none", "manager: cannot find a cluster: stat /none: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), bin, tt.argument)
			cmd.Env = append(os.Environ(), "KUBECONFIG=")
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), tt.want) {
				t.Errorf("got %v and %q, want %q", err, out, tt.want)
			}
		})
	}
}

func TestDeploymentUsesValidFlagsAndPorts(t *testing.T) {
	t.Parallel()

	f, err := os.Open("../../config/manager/manager.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var d appsv1.Deployment // the first document
	if err := yaml.NewYAMLOrJSONDecoder(f, 4096).Decode(&d); err != nil {
		t.Fatal(err)
	}
	c := d.Spec.Template.Spec.Containers[0]
	if pod := d.Spec.Template.Spec.SecurityContext; *pod.RunAsUser != 65532 || !*c.SecurityContext.ReadOnlyRootFilesystem || len(c.SecurityContext.Capabilities.Add) > 0 ||
		!slices.Equal(c.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}) || *c.SecurityContext.AllowPrivilegeEscalation {
		t.Errorf("the security contexts are %+v, %+v", pod, c.SecurityContext)
	}
	help, err := exec.CommandContext(t.Context(), build(t), append(c.Args, "-help")...).CombinedOutput()
	if err != nil {
		t.Fatalf("the manager rejects %q: %v\n%s", c.Args, err, help)
	}
	for _, p := range c.Ports {
		asked := fmt.Sprintf("--%s-bind-address=:%d", p.Name, p.ContainerPort)
		if want := fmt.Sprintf("(default \":%d\")", p.ContainerPort); !strings.Contains(string(help), want) && !slices.Contains(c.Args, asked) {
			t.Errorf("nothing listens on port %s: %q is not an argument, and %s is not in\n%s", p.Name, asked, want, help)
		}
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet.Port.String() != "probes" {
			t.Errorf("a probe requests %+v", probe)
		}
	}
}

func TestManagerDoesNotLinkHostPackages(t *testing.T) {
	t.Parallel()

	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/fettle-dev/fettle/"
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, module+"providers/file") {
		t.Error("the list of linked packages lacks the providers")
	}
	for _, p := range packages {
		for _, reaches := range []string{"internal/host/linux", "internal/hostrun", "internal/state", "nodeagent"} {
			if p == module+reaches || strings.HasPrefix(p, module+reaches+"/") {
				t.Errorf("the manager links %s", p)
			}
		}
	}
}
