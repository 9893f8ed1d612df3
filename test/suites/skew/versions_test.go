//go:build rare

package skew_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fettle-dev/fettle/test/fixtures/older"
	"github.com/fettle-dev/fettle/test/fixtures/program"
)

// untagged is the older commit as long as there is no tag: the last one before readiness and silence were shown in columns.
const untagged = "c2177ac176af1e67a072aafb5601edd408a90934"

// A version is a directory with the programs manager and nodeagent, and with config/.
type version struct{ dir string }

func (v version) manager() string           { return filepath.Join(v.dir, "manager") }
func (v version) agent() string             { return filepath.Join(v.dir, "nodeagent") }
func (v version) config(name string) string { return filepath.Join(v.dir, "config", name) }

// thisVersion builds the version of this checkout.
func thisVersion(t *testing.T) version {
	t.Helper()
	v := version{t.TempDir()}
	root := program.Depend(t)
	program.Build(t, "manager", v.manager())
	program.Build(t, "nodeagent", v.agent())
	must(t, os.Symlink(filepath.Join(root, "config"), filepath.Join(v.dir, "config")))
	return v
}

// olderVersion returns the older version, or this one if the clone does not contain it: the test still exchanges programs and definitions,
// and recorded objects still test the formats of older versions.
func olderVersion(t *testing.T, now version) version {
	t.Helper()
	if dir, ok := older.Build(t, untagged); ok {
		return version{dir}
	}
	return now
}
