package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/program"
)

// podScript makes a host of which process 1 is no systemd, and beside it a container with its own mounts, a root that is read
// only, and an empty directory for each volume. Its arguments are the roots of both, the volumes, and what runs in the container.
const podScript = `set -e
host=$1; mount -t proc proc "$host/proc"
unshare --mount sh -ec '
host=$1 pod=$2 volumes=$3; shift 3
mount --bind "$pod" "$pod"; mount -t proc proc "$pod/proc"
for v in $volumes; do
	at=$pod${v%:*}; mount -t tmpfs volume "$at"
	case $at in */serviceaccount) echo token >"$at/token"; echo fettle-nodes >"$at/namespace";; esac
	mount -o "remount,${v#*:}" "$at"
done
mount -o remount,bind,ro "$pod"
until [ "$(readlink "$host/proc/1/root")" = "$host" ]; do sleep 0.01; done
exec chroot "$pod" "$@"' sh "$@" &
exec chroot "$host" sleep infinity`

// daemonSet returns what config/ installs on nodes.
func daemonSet(t *testing.T) corev1.PodSpec {
	t.Helper()
	raw, err := os.ReadFile("../../config/nodeagent/nodeagent.yaml")
	must(t, err)
	var d appsv1.DaemonSet
	must(t, yaml.Unmarshal(raw, &d))
	return d.Spec.Template.Spec
}

// startPod starts the container of the pod on a host as a kubelet would, except that no API server answers.
func startPod(t *testing.T, host string) *exec.Cmd {
	t.Helper()
	container, pod := daemonSet(t).Containers[0], t.TempDir()
	program.Build(t, "nodeagent", filepath.Join(pod, container.Command[0]))
	must(t, os.Mkdir(filepath.Join(pod, "proc"), 0o755))
	env := []string{"PATH=" + os.Getenv("PATH"), "KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=1"}
	for _, e := range container.Env {
		if e.ValueFrom != nil { // that of the node's name
			e.Value = "web-1"
		}
		env = append(env, e.Name+"="+e.Value)
	}
	var volumes []string
	for _, m := range container.VolumeMounts {
		must(t, os.MkdirAll(filepath.Join(pod, m.MountPath), 0o755))
		volumes = append(volumes, m.MountPath+map[bool]string{true: ":ro", false: ":rw"}[m.ReadOnly])
	}
	args := []string{"--mount", "--pid", "--fork", "--kill-child", "sh", "-c", podScript, "sh", host, pod, strings.Join(volumes, " "), container.Command[0]}
	for _, a := range container.Args {
		args = append(args, strings.ReplaceAll(a, "$(NODE_NAME)", "web-1"))
	}
	cmd := exec.Command("unshare", args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, t.Output(), t.Output()
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func entry(kind, name string, attributes map[string]string) v1alpha1.CatalogEntry {
	raw, _ := json.Marshal(attributes)
	return v1alpha1.CatalogEntry{Kind: kind, Name: name, Attributes: &runtime.RawExtension{Raw: raw}}
}

// As in kind, the node is a container; here it has no systemd either.
func TestPodOfTheDaemonSetManagesAHostWithoutSystemd(t *testing.T) {
	debian.Require(t, "unshare")
	host := debian.Root(t)
	debian.Repository(t, host, debian.Deb{Name: "greeting", Version: "1.0", Files: map[string]string{"/usr/share/greeting": "hello\n"}})
	debian.UpdateIndex(t, host)
	dir := filepath.Join(host, state.DefaultDir)
	remember(t, dir, []v1alpha1.CatalogEntry{
		entry("File", "motd", map[string]string{"path": "/etc/motd", "content": "managed\n"}),
		entry("Package", "greeting", map[string]string{"name": "greeting", "ensure": "present"}),
		entry("SystemService", "cron", map[string]string{"name": "cron", "ensure": "running"}),
	})
	agent := startPod(t, host)
	var first struct {
		Resources []struct{ Ref, State, Message string }
	}
	until(t, agent, "a run has ended", func() bool {
		all, err := state.Reports(dir)
		return err == nil && len(all) > 0 && json.Unmarshal(all[0].Report, &first) == nil
	})
	got := map[string]string{"motd": read(host, "/etc/motd"), "greeting": read(host, "/usr/share/greeting")}
	for _, r := range first.Resources {
		got[r.Ref] = strings.TrimSpace(r.State + " " + r.Message)
	}
	want := map[string]string{
		"motd": "managed\n", "greeting": "hello\n",
		"File/motd": "Changed", "Package/greeting": "Changed", "SystemService/cron": "Failed provider systemd-offline lacks the feature controllable, which ensure needs, because no systemd runs on this host; " +
			"leave the attribute out or choose another provider",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
