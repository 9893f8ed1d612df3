//go:build rare

package skew_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fettle-dev/fettle/test/fixtures/program"
)

// untagged is the older commit as long as there is no tag: the last one before readiness and silence were shown in columns.
const untagged = "c2177ac176af1e67a072aafb5601edd408a90934"

// A version is a directory with the programs manager and nodeagent, and with config/.
type version struct{ dir string }

func (v version) manager() string           { return filepath.Join(v.dir, "manager") }
func (v version) agent() string             { return filepath.Join(v.dir, "nodeagent") }
func (v version) config(name string) string { return filepath.Join(v.dir, "config", name) }

// checkout builds the version of this checkout.
func checkout(t *testing.T) version {
	t.Helper()
	v := version{t.TempDir()}
	root := program.Depend(t)
	program.Build(t, "manager", v.manager())
	program.Build(t, "nodeagent", v.agent())
	must(t, os.Symlink(filepath.Join(root, "config"), filepath.Join(v.dir, "config")))
	return v
}

// older builds, once, the version of the commit in FETTLE_SKEW_COMMIT. The default is the newest tag before this commit or,
// without a tag, a fixed commit. A shallow clone may contain neither. Then the older version is that of this checkout: the
// test still exchanges programs and definitions, and recorded objects still test the formats of older versions.
func older(t *testing.T, now version) version {
	t.Helper()
	commit, explicit := os.LookupEnv("FETTLE_SKEW_COMMIT")
	if !explicit {
		commit = untagged
		if tag, err := git("describe", "--tags", "--abbrev=0", "HEAD^"); err == nil {
			commit = tag
		}
	}
	if _, err := git("cat-file", "-e", commit+"^{commit}"); err != nil {
		if explicit {
			t.Fatalf("FETTLE_SKEW_COMMIT=%s is not in this clone: %v", commit, err)
		}
		t.Logf("%s is not in this clone: this version is tested with itself", commit)
		return now
	}
	build := exec.CommandContext(t.Context(), "./build.sh", commit)
	build.Stderr = t.Output()
	out, err := build.Output()
	must(t, err)
	t.Logf("the older version is %s", commit)
	return version{string(bytes.TrimSpace(out))}
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	return string(bytes.TrimSpace(out)), err
}
