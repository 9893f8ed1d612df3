package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestKustomizationIsBuiltByInstalledProgram(t *testing.T) {
	const built = "#!/bin/sh\n" +
		"[ \"$*\" = \"ARGS\" ] || { echo \"unexpected $*\" >&2; exit 1; }\n" +
		"echo 'apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: a}\nspec: {nodeSelector: {}, path: /a, ensure: file}'\n"
	program := build(t)
	for name, c := range map[string]struct{ tool, script, out, err string }{
		"kustomize":     {"kustomize", strings.Replace(built, "ARGS", "build -- overlay", 1), "1 resource is valid\n", ""},
		"kubectl":       {"kubectl", strings.Replace(built, "ARGS", "kustomize -- overlay", 1), "1 resource is valid\n", ""},
		"that fails":    {"kubectl", "#!/bin/sh\necho no kustomization.yaml >&2; exit 3\n", "0 resources, 1 fault\n", "cannot build the kustomization overlay: kubectl kustomize: exit status 3: no kustomization.yaml\n"},
		"not installed": {"other", "", "0 resources, 1 fault\n", "cannot build the kustomization overlay: neither kustomize nor kubectl is installed: install one, or build it elsewhere and pass the result with -f\n"},
	} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			if err := os.WriteFile(filepath.Join(bin, c.tool), []byte(c.script), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), program, "validate", "-k", "overlay")
			cmd.Env = []string{"PATH=" + bin}
			var out, stderr strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &stderr
			if err := cmd.Run(); (err == nil) != (c.err == "") || out.String() != c.out || stderr.String() != c.err {
				t.Errorf("%v\nstdout: %s\nstderr: %s", err, &out, &stderr)
			}
		})
	}
}
