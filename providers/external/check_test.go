package external_test

import (
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/external/wire"
)

// newChecked returns a fixture whose program checks runs.
func newChecked(t *testing.T, check func(wire.Resource) wire.Answer) *fixture {
	t.Helper()
	w := newFixtureOf(t, strings.Replace(entry, "requests: [", "requests: [Check, ", 1))
	w.registry.check = check
	return w
}

const (
	checkedA = `Entry/a {zone: z, id: 1, ttl: 60}`
	checkedB = `Entry/b {zone: z, id: 2, token: t0ken}`
)

func TestOneProcessChecksTheRun(t *testing.T) {
	t.Parallel()

	w := newChecked(t, func(wire.Resource) wire.Answer { return wire.Answer{} })
	w.Noop = true
	w.Apply(t, checkedA, checkedB)
	equal(t, []string{"canonicalize 2, get 2", "check 2", "validate 2"}, w.registry.calls)
	w.registry.calls, w.Noop = nil, false
	w.Apply(t, checkedA, checkedB)
	equal(t, []string{"canonicalize 2, get 2", "check 2", "validate 2", "set 2", "canonicalize 2, get 2"}, w.registry.calls)
}

func TestAnErrorInAnAnswerPreventsTheRun(t *testing.T) {
	t.Parallel()

	w := newChecked(t, func(r wire.Resource) wire.Answer {
		if r.Name == "z:2" {
			return wire.Answer{Error: "no quorum\nfor t0ken"}
		}
		return wire.Answer{}
	})
	equal(t, []string{
		"Entry/a: the run was stopped before its turn: some checks before the run failed: Entry/b", "Entry/b: its check before the run failed: no quorum\\nfor [redacted]",
	}, w.Apply(t, checkedA, checkedB))
	equal(t, []string{"canonicalize 2, get 2", "check 2"}, w.registry.calls)
}

func TestAProgramThatDiesInACheckPreventsNothing(t *testing.T) {
	t.Parallel()

	w := newChecked(t, func(wire.Resource) wire.Answer { return wire.Answer{} })
	w.registry.poison = map[string]string{"check z:3": "crash"}
	equal(t, []string{
		"Entry/a: output: stored z:1", "Entry/a: created", "Entry/b: output: stored z:2", "Entry/b: created",
		"Entry/c: its check before the run failed: the program exited with 137: out of luck",
	}, w.Apply(t, checkedA, `Entry/c {zone: z, id: 3}`, checkedB))
	equal(t, []string{"canonicalize 3, get 3", "check 3", "check 1", "check 1"}, w.registry.calls[:4])
}
