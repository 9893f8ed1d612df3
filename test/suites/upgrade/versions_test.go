package upgrade_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/test/fixtures/older"
	"github.com/fettle-dev/fettle/test/fixtures/program"
)

// untagged is the older commit as long as there is no tag: the last one before runs and corrections shared a loop.
const untagged = "720515129b43547dd072faa04d77c355fb084579"

// A version is a directory with the programs fettle and nodeagent.
type version struct{ dir string }

// exchanges calls a test with this version after the older one, and the other way round.
func exchanges(t *testing.T, test func(t *testing.T, from, to version)) {
	t.Helper()
	now := version{t.TempDir()}
	program.Build(t, "fettle", now.program("fettle"))
	program.Build(t, "nodeagent", now.program("nodeagent"))
	before := now
	if dir, ok := older.Build(t, untagged); ok {
		before = version{dir}
	}
	t.Run("an upgrade", func(t *testing.T) { test(t, before, now) })
	t.Run("a rollback", func(t *testing.T) { test(t, now, before) })
}

func (v version) program(name string) string { return filepath.Join(v.dir, name) }

// command returns fettle for the host in a directory.
func (v version) command(t *testing.T, root, stdin string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), v.program("fettle"), append(args, "--root="+root)...)
	cmd.Stdin = strings.NewReader(stdin)
	return cmd
}

// fettle runs a command and returns its outputs. The command must succeed, unless it applies resources that fail.
func (v version) fettle(t *testing.T, root, stdin string, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := v.command(t, root, stdin, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && args[0] != "apply" {
		t.Fatalf("fettle %q: %v\n%s", args, err, &errs)
	}
	return out.String(), errs.String()
}

// apply applies manifests, and returns what the report says about resources, sorted and without times.
func (v version) apply(t *testing.T, root, manifests string) (said []string) {
	t.Helper()
	out, errs := v.fettle(t, root, manifests, "apply", "-f", "-", "-o", "json")
	var r report.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s%s", err, out, errs)
	}
	for _, one := range r.Resources {
		for _, line := range one.Lines() {
			line, _, _ = strings.Cut(line, ", due again ")
			said = append(said, line)
		}
	}
	slices.Sort(said)
	return said
}

// history returns the stored reports as JSON, the latest last.
func (v version) history(t *testing.T, root string) (all []any) {
	t.Helper()
	out, _ := v.fettle(t, root, "", "report", "list", "-o", "json")
	must(t, json.Unmarshal([]byte(out), &all))
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
