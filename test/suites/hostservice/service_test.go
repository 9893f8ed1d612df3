package hostservice_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/nodetoken"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/locked"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
	"github.com/fettle-dev/fettle/test/fixtures/program"
)

const (
	node    = "web-1"
	unit    = "fettle-nodeagent.service"
	dir     = "/opt/fettle/" // of the programs on the machine
	wrote   = "wrote /etc/fettle/agent/token\nwrote /etc/fettle/agent/kubeconfig\nwrote /usr/local/bin/fettle-nodeagent\nwrote /etc/systemd/system/" + unit + "\n"
	install = "the agent of Node web-1 is installed as " + unit + "\n"
)

// The steps build on each other.
func TestAgentAsServiceOfItsHost(t *testing.T) {
	debian.Require(t)
	f := newFixture(t)
	f.createToken(t, node, "/root/kubeconfig")
	installed := func(t *testing.T, want string, args ...string) {
		t.Helper()
		args = append([]string{dir + "fettle", "agent", "install", "--node-name=" + node}, args...)
		if diff := cmp.Diff(want, f.run(t, args...)); diff != "" {
			t.Error(diff)
		}
	}

	t.Run("is installed and applies the catalog", func(t *testing.T) {
		installed(t, wrote+install, "--kubeconfig=/root/kubeconfig", "--", "--splay=0s")
		f.eventually(t, "the file is there", func() bool { return f.hostFile("/etc/motd") == "hello\n" })
		f.eventually(t, "the node is ready", func() bool { return f.isReady(t) })
		for name, want := range map[string]string{
			"/etc/fettle/agent": "700 root", "/etc/fettle/agent/token": "600 root", "/etc/fettle/agent/kubeconfig": "600 root",
			"/usr/local/bin/fettle-nodeagent": "755 root", "/etc/systemd/system/" + unit: "644 root",
		} {
			if got := strings.TrimSpace(f.run(t, "stat", "-c", "%a %U", name)); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	})
	t.Run("replaces its first token by one for a week", func(t *testing.T) {
		f.eventually(t, "the token is renewed", func() bool {
			is, err := nodetoken.Parse(f.hostFile("/etc/fettle/agent/token"))
			return err == nil && is.Node == node && is.Expires.Sub(is.Issued) == nodetoken.MaxLifetime
		})
	})
	t.Run("is left alone by a second installation", func(t *testing.T) {
		before, token := f.mainPID(t), f.hostFile("/etc/fettle/agent/token")
		installed(t, install, "--kubeconfig=/root/kubeconfig", "--", "--splay=0s")
		if now := f.mainPID(t); now != before {
			t.Errorf("the process was %s and is %s", before, now)
		}
		if f.hostFile("/etc/fettle/agent/token") != token {
			t.Error("the renewed token was replaced by an older one")
		}
	})
	t.Run("reports its state", func(t *testing.T) {
		got := f.run(t, dir+"fettle", "agent", "status")
		for _, want := range []string{"active, enabled", "for Node web-1, until 20", ", service, process " + f.mainPID(t)} {
			if !strings.Contains(got, want) {
				t.Errorf("the status lacks %q:\n%s", want, got)
			}
		}
	})
	t.Run("is upgraded while it runs", func(t *testing.T) {
		before := f.mainPID(t)
		f.run(t, "sh", "-c", "cp "+dir+"nodeagent "+dir+"next && echo >> "+dir+"next")
		installed(t, "wrote /usr/local/bin/fettle-nodeagent\n"+install, "--binary="+dir+"next", "--", "--splay=0s")
		if now := f.mainPID(t); now == before || now == "0" {
			t.Errorf("the process was %s and is %s", before, now)
		}
	})
	t.Run("starts without the API server", func(t *testing.T) {
		f.proxy.close()
		f.run(t, "systemctl", "stop", unit)
		f.run(t, "sh", "-c", "echo bad > /etc/motd")
		f.run(t, "systemctl", "start", unit)
		f.eventually(t, "drift is corrected", func() bool { return f.hostFile("/etc/motd") == "hello\n" })
		f.proxy.listen()
	})
	t.Run("rejects credentials for another node", func(t *testing.T) {
		must(t, f.admin.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "web-2"}}))
		f.createToken(t, "web-2", "/root/other")
		out, err := f.machine.Command(t.Context(), dir+"fettle", "agent", "install", "--node-name=web-1", "--kubeconfig=/root/other").CombinedOutput()
		want := "fettle: the token in the kubeconfig is bound to Node \"web-2\", not to web-1: create another with fettle agent token --node web-1\n"
		if err == nil || string(out) != want {
			t.Errorf("%v: %s", err, out)
		}
	})

	pod, logs := f.startPodAgent(t)
	t.Run("lets an agent in a pod wait", func(t *testing.T) {
		f.eventually(t, "the pod waits", func() bool {
			return strings.Contains(logs.String(), "this agent waits") && strings.Contains(logs.String(), ", service, process "+f.mainPID(t))
		})
	})
	t.Run("is uninstalled, leaving what it manages", func(t *testing.T) {
		want := "removed /etc/systemd/system/" + unit + "\nremoved /usr/local/bin/fettle-nodeagent\nremoved /etc/fettle/agent\n"
		if got := f.run(t, dir+"fettle", "agent", "uninstall"); got != want {
			t.Error(got)
		}
		if got := f.run(t, "sh", "-c", "ls -d /etc/fettle/* /usr/local/bin/*; systemctl list-unit-files --no-legend 'fettle*'; cat /etc/motd; ls -d /var/lib/fettle"); got != "hello\n/var/lib/fettle\n" {
			t.Error(got)
		}
	})
	t.Run("is followed by the agent in the pod", func(t *testing.T) {
		f.eventually(t, "the pod takes over", func() bool { return strings.Contains(logs.String(), "this agent takes over") })
	})
	t.Run("is not purged while another agent acts", func(t *testing.T) {
		out, err := f.machine.Command(t.Context(), dir+"fettle", "agent", "uninstall", "--purge").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "the state stays: another agent acts on this host") {
			t.Errorf("%v: %s", err, out)
		}
		must(t, pod.Process.Signal(os.Interrupt))
		must(t, pod.Wait())
		if got := f.run(t, dir+"fettle", "agent", "uninstall", "--purge"); got != "no service is installed on this host\nremoved /var/lib/fettle\n" {
			t.Error(got)
		}
		if got := f.run(t, "sh", "-c", "ls -d /var/lib/fettle; cat /etc/motd"); got != "hello\n" {
			t.Error(got)
		}
	})
}

// A fixture is a cluster with a Node, and the Node's machine, which reaches the API server through a proxy.
type fixture struct {
	admin      client.Client
	kubeconfig string // an administrator's
	programs   string
	machine    *debian.Machine
	proxy      *proxy
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	cfg, _ := controlplane.Start(t)
	controlplane.Install(t, cfg)
	f := &fixture{admin: controlplane.Admin(t, cfg), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), programs: t.TempDir(), machine: debian.Boot(t)}
	must(t, controlplane.WriteKubeconfig(f.kubeconfig, cfg, ""))
	must(t, os.MkdirAll(filepath.Join(f.machine.Root(), dir), 0o755))
	program.Build(t, "kubectl-fettle", filepath.Join(f.programs, "kubectl-fettle")) // creates tokens
	for _, name := range []string{"fettle", "nodeagent"} {
		program.Build(t, name, filepath.Join(f.programs, name))
		text, err := os.ReadFile(filepath.Join(f.programs, name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(f.machine.Root(), dir, name), text, 0o755))
	}
	f.proxy = newProxy(t, f.machine.PID(), strings.Trim(strings.TrimPrefix(cfg.Host, "https:"), "/"))

	must(t, f.admin.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}))
	raw, err := json.Marshal(map[string]string{"path": "/etc/motd", "content": "hello\n"})
	must(t, err)
	entry := v1alpha1.CatalogEntry{Kind: "File", Name: "motd", Attributes: &runtime.RawExtension{Raw: raw}}
	must(t, f.admin.Create(t.Context(), &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: v1alpha1.NodeCatalogSpec{Entries: []v1alpha1.CatalogEntry{entry}}}))
	return f
}

// createToken creates credentials as an administrator does, and copies them to the machine.
func (f *fixture) createToken(t *testing.T, node, file string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(f.programs, "fettle"), "agent", "token", "--node", node, "--kubeconfig", f.kubeconfig, "--duration", "10m",
		"-o", filepath.Join(f.machine.Root(), file))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "which is valid until") {
		t.Fatalf("%v: %s", err, out)
	}
}

// startPodAgent starts an agent outside the machine, as a pod of a DaemonSet does.
func (f *fixture) startPodAgent(t *testing.T) (*exec.Cmd, *locked.Buffer) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	out, err := exec.CommandContext(t.Context(), filepath.Join(f.programs, "fettle"), "agent", "token", "--node", node, "--kubeconfig", f.kubeconfig).Output()
	must(t, err)
	must(t, os.WriteFile(file, out, 0o600))
	logs := &locked.Buffer{}
	cmd := exec.CommandContext(t.Context(), filepath.Join(f.programs, "nodeagent"), "--host-pid="+strconv.Itoa(f.machine.PID()), "--node-name="+node, "--kubeconfig="+file, "--splay=0s")
	cmd.Stderr = logs
	must(t, cmd.Start())
	return cmd, logs
}

// run runs a command on the machine.
func (f *fixture) run(t *testing.T, command ...string) string {
	t.Helper()
	out, err := f.machine.Run(t.Context(), command...)
	if err != nil && command[0] != "sh" {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// mainPID returns the main process of the service in the machine's PID namespace.
func (f *fixture) mainPID(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(f.run(t, "systemctl", "show", "--property=MainPID", "--value", unit))
}

func (f *fixture) hostFile(file string) string {
	text, _ := os.ReadFile(filepath.Join(f.machine.Root(), file))
	return string(text)
}

func (f *fixture) isReady(t *testing.T) bool {
	t.Helper()
	var nc v1alpha1.NodeCatalog
	err := f.admin.Get(t.Context(), client.ObjectKey{Name: node}, &nc)
	return err == nil && meta.IsStatusConditionTrue(nc.Status.Conditions, v1alpha1.ConditionReady)
}

func (f *fixture) eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	const limit, poll = patient.Limit, 50 * time.Millisecond
	for deadline := time.After(limit); !holds(); {
		select {
		case <-deadline:
			journal, _ := f.machine.Run(t.Context(), "journalctl", "--no-pager", "--unit", unit)
			t.Fatalf("not within %s: %s\n%s", limit, what, journal)
		case <-time.After(poll):
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
