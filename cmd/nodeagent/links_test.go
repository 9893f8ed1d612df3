package main

import (
	"os/exec"
	"strings"
	"testing"
)

// The types of an API register themselves with a scheme, so a program has all code of each that it links.
func TestAgentLinksNoAPIsOfKubernetesButLeases(t *testing.T) {
	t.Parallel()

	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for linked := range strings.Lines(string(out)) {
		if linked = strings.TrimSpace(linked); strings.HasPrefix(linked, "k8s.io/api/") && linked != "k8s.io/api/coordination/v1" {
			t.Errorf("the agent links %s", linked)
		}
	}
}
