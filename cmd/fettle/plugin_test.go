package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/test/fixtures/program"
)

func TestCommandsForTheClusterRunKubectlFettle(t *testing.T) {
	fettle, elsewhere := build(t), t.TempDir()
	const script = "#!/bin/sh\necho \"$0 $*\"; exit 4\n"
	run := func(args ...string) (out string, code int) {
		cmd := exec.CommandContext(t.Context(), fettle, args...)
		cmd.Env = []string{"PATH=" + elsewhere}
		text, _ := cmd.CombinedOutput()
		return string(text), cmd.ProcessState.ExitCode()
	}
	const missing = "fettle: this command needs a cluster, and only kubectl fettle reaches one: put the program kubectl-fettle of the same release beside fettle, or into your PATH\n"
	for _, args := range [][]string{{"agent", "token", "--node", "a"}, {"support-bundle", "cluster"}} {
		if out, code := run(args...); out != missing || code != 1 {
			t.Errorf("%v without it: %d, %s", args, code, out)
		}
	}
	for _, dir := range []string{elsewhere, filepath.Dir(fettle)} { // the latter has precedence
		plugin := filepath.Join(dir, "kubectl-fettle")
		if err := os.WriteFile(plugin, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		for line, want := range map[string]string{
			"agent token --node a -o -":                                     "agent token --node a -o -",
			"--debug agent token --help":                                    "agent token --debug --help",
			"support-bundle --node a cluster --node b,c host --root / -o x": "support-bundle --node=a --node=b --node=c --output-file=x --root=/ cluster host",
		} {
			if out, code := run(strings.Fields(line)...); out != plugin+" "+want+"\n" || code != 4 {
				t.Errorf("%s: %d, %s", line, code, out)
			}
		}
	}
}

// Before they were two programs, fettle was linked to the name of its plugin.
func TestLinkWithTheNameOfThePluginSaysWhatToDo(t *testing.T) {
	link := filepath.Join(t.TempDir(), "kubectl-fettle")
	if err := os.Symlink(build(t), link); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), link, "status").CombinedOutput()
	if want := "fettle: " + link + " is the program kubectl-fettle, and this is fettle, which is about this machine: replace it by the kubectl-fettle of the same release\n"; err == nil || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}
}

func TestPluginNamesItselfAsKubectlDoes(t *testing.T) {
	plugin := filepath.Join(t.TempDir(), "kubectl-fettle")
	program.Make(t, "cmd/kubectl-fettle", plugin)
	out, err := exec.CommandContext(t.Context(), plugin, "plan", "--help").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "  kubectl fettle plan -f manifests/\n") {
		t.Errorf("%v: %s", err, out)
	}
}
