package main_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Each run on a host pays for the start of the program.
func TestProgramCollectsNoGarbageBeforeItsCommandBegins(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), build(t), "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1", "GOGC=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil || stderr.String() != "" {
		t.Errorf("%v: %s", err, &stderr)
	}
}

func TestProgramOfHostsLinksNothingOfFleets(t *testing.T) {
	linkNone(t, []string{"."}, "github.com/fettle-dev/fettle/internal/cli/fleet", "github.com/fettle-dev/fettle/internal/cli/page", "github.com/fettle-dev/fettle/internal/cli/overview",
		"k8s.io/client-go/dynamic", "k8s.io/client-go/metadata", "k8s.io/client-go/tools/cache", "k8s.io/client-go/discovery", "sigs.k8s.io/controller-runtime")
}

func TestProgramsLinkNoLibraryThatOnlyTestsNeed(t *testing.T) {
	linkNone(t, []string{".", "../kubectl-fettle", "../manager", "../nodeagent"}, "github.com/santhosh-tekuri/jsonschema")
}

func linkNone(t *testing.T, programs []string, absent ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps"}, programs...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for linked := range strings.Lines(string(out)) {
		linked = strings.TrimSpace(linked)
		if slices.ContainsFunc(absent, func(name string) bool { return linked == name || strings.HasPrefix(linked, name+"/") }) {
			t.Errorf("%s link %s", programs, linked)
		}
	}
}
