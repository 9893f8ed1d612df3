package main_test

import (
	"os"
	"os/exec"
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
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{
		"github.com/fettle-dev/fettle/internal/cli/fleet", "github.com/fettle-dev/fettle/internal/cli/page", "github.com/fettle-dev/fettle/internal/cli/overview",
		"k8s.io/client-go/dynamic", "k8s.io/client-go/metadata", "k8s.io/client-go/tools/cache", "k8s.io/client-go/discovery", "sigs.k8s.io/controller-runtime",
	} {
		for linked := range strings.Lines(string(out)) {
			if linked = strings.TrimSpace(linked); linked == absent || strings.HasPrefix(linked, absent+"/") {
				t.Errorf("fettle links %s", linked)
			}
		}
	}
}
