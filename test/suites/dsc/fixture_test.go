// Package dsc_test builds types from the manifests of DSC resources, and applies their resources to a copy of this machine's
// files. The resources are our own: they have every form of arguments, input, output and messages.
package dsc_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	programs "github.com/fettle-dev/fettle/test/fixtures/program"
)

const fixtures = "../../fixtures/dsc/"

// A fixture is a host with a copy of this machine's files, and the directory of a type's author.
type fixture struct {
	root, dir string
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	debian.Require(t, "python3", "jq")
	return fixture{root: debian.Copy(t), dir: t.TempDir()}
}

// run runs fettle, and returns its output, its errors and its exit code.
func (f fixture) run(t *testing.T, args ...string) (printed, messages string, code int) {
	t.Helper()
	var out, stderr bytes.Buffer
	err := cli.Run(t.Context(), cli.Options{
		Kinds:      providers.Kinds(),
		Hosts:      place.Hosts{Root: func(root string) (place.Host, error) { return linux.Open(linux.Options{Root: root}) }},
		CopyOfRoot: func(use func(string) error) error { return use(f.root) },
		Streams:    program.Streams{Out: &out, Err: &stderr},
	}, args)
	var exit output.Exit
	switch {
	case errors.As(err, &exit):
		return out.String(), stderr.String(), int(exit)
	case err != nil:
		return out.String(), stderr.String() + program.Message(err), 1
	}
	return out.String(), stderr.String(), 0
}

// build builds the types of a manifest into a file.
func (f fixture) build(t *testing.T, manifest string) string {
	t.Helper()
	out, messages, code := f.run(t, "type", "build", manifest)
	if code != 0 {
		t.Fatalf("cannot build %s: %s", manifest, messages)
	}
	file := filepath.Join(f.dir, "built", filepath.Base(manifest)+".yaml")
	writeFile(t, file, out)
	return file
}

// apply applies resources of types, each a kind and a spec in one line, and returns the report without its summary.
func (f fixture) apply(t *testing.T, types string, resources ...string) []string {
	t.Helper()
	return f.report(t, []string{"apply"}, types, resources)
}

func (f fixture) plan(t *testing.T, types string, resources ...string) []string {
	t.Helper()
	return f.report(t, []string{"plan"}, types, resources)
}

func (f fixture) report(t *testing.T, command []string, types string, resources []string) []string {
	t.Helper()
	file := filepath.Join(f.dir, "resources.yaml")
	writeFile(t, file, strings.Join(manifests(resources), "---\n"))
	out, messages, _ := f.run(t, append(command, "--root", f.root, "-f", types, "-f", file)...)
	var all []string
	for line := range strings.Lines(out + messages) {
		if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, " resources") && !strings.Contains(line, "1 resource") {
			all = append(all, line)
		}
	}
	return all
}

// manifests turns lines such as Entry/a {properties: {}} into manifests.
func manifests(resources []string) []string {
	var all []string
	for _, r := range resources {
		ref, spec, _ := strings.Cut(r, " ")
		kind, name, _ := strings.Cut(ref, "/")
		all = append(all, "apiVersion: types.fettle.dev/v1alpha1\nkind: "+kind+"\nmetadata: {name: "+name+"}\nspec: {nodeSelector: {}, "+strings.TrimPrefix(spec, "{")+"\n")
	}
	return all
}

// installAdapter builds the adapter's program beside its manifest and on the host, and returns the path of the manifest.
func (f fixture) installAdapter(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"adapter.dsc.resource.json", "adapter.fettle.yaml"} {
		writeFile(t, filepath.Join(f.dir, name), readFile(t, fixtures+"adapter/"+name))
	}
	beside := filepath.Join(f.dir, "adapter")
	programs.Make(t, "test/fixtures/dsc/adapter", beside)
	installed := filepath.Join(f.root, "opt/dsctest/adapter")
	writeFile(t, installed, readFile(t, beside))
	if err := os.Chmod(installed, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(f.dir, "adapter.dsc.resource.json")
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
