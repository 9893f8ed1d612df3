package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

func TestDaemonSetUsesValidFlagsAndPorts(t *testing.T) {
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
	for _, p := range pod.Containers[0].Ports {
		if port := fmt.Sprintf(":%d", p.ContainerPort); port != got.health && port != got.metrics {
			t.Errorf("nothing listens on port %s, %s", p.Name, port)
		}
	}
	if e := pod.Containers[0].Env[0]; e.Name != "NODE_NAME" || e.ValueFrom.FieldRef.FieldPath != "spec.nodeName" {
		t.Errorf("the node's name comes from %+v", e)
	}
	if !pod.HostPID {
		t.Error("--host-pid=1 is the host's process only with hostPID")
	}
}
