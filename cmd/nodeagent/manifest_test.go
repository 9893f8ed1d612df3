package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/nodeagent/probe"
)

func TestDaemonSetUsesValidFlagsAndProbes(t *testing.T) {
	raw, err := os.ReadFile("../../config/nodeagent/nodeagent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.DaemonSet
	if err := yaml.UnmarshalStrict(raw, &d); err != nil {
		t.Fatal(err)
	}
	pod := d.Spec.Template.Spec
	args := make([]string, len(pod.Containers[0].Args))
	for i, a := range pod.Containers[0].Args {
		args[i] = strings.ReplaceAll(a, "$(NODE_NAME)", "web-1")
	}
	var usage strings.Builder
	got, err := parse(args, environment(""), &usage)
	if err != nil {
		t.Fatalf("%v\n%s", err, &usage)
	}
	if got.node != "web-1" || got.hostPID != 1 || got.root != "" {
		t.Errorf("the options are %+v", got)
	}
	for want, p := range map[string]*corev1.Probe{"started": pod.Containers[0].StartupProbe, "ready": pod.Containers[0].ReadinessProbe, "live": pod.Containers[0].LivenessProbe} {
		if p == nil || p.Exec == nil || !slices.Equal(p.Exec.Command, []string{"/nodeagent", "probe", want}) {
			t.Errorf("the probe of %s is %+v", want, p)
		}
	}
	if mounts := pod.Containers[0].VolumeMounts; got.probes != probe.DefaultSocket || !slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool { return m.MountPath == filepath.Dir(got.probes) }) {
		t.Errorf("the probe socket %s is not in a volume: %+v", got.probes, mounts)
	}
	if e := pod.Containers[0].Env[0]; e.Name != "NODE_NAME" || e.ValueFrom.FieldRef.FieldPath != "spec.nodeName" {
		t.Errorf("the node's name comes from %+v", e)
	}
	if !pod.HostPID {
		t.Error("--host-pid=1 is the host's process only with hostPID")
	}
}
