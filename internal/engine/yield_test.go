package engine_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// working is a provider whose changes are Detached commands.
type working struct{ plain }

func (p working) Write(ctx context.Context, h resource.Writer, is, want thing, changes []resource.Change) error {
	_, err := h.Run(ctx, host.Cmd{Args: []string{"work"}, Detached: true})
	return errors.Join(err, p.plain.Write(ctx, h, is, want, changes))
}

// work is an item whose changes are Detached commands with side effects.
func (m *machine) work(t *testing.T, name string, edges ...string) resource.Item {
	t.Helper()
	typ := m.typ("Work", []resource.Provider[thing]{working{plain{m, "hand"}}})
	typ.SideEffects = true
	return m.itemOf(t, map[string]resource.Kind{"Work": bound.Kind(typ)}, "Work/"+name, red, edges...)
}

// A workshop is a host whose commands end at once. A run goes on only after Yield, so all that Yield does happens while they run.
type workshop struct{ host.Host }

func (workshop) Run(context.Context, host.Cmd) (host.Result, error) { return host.Result{}, nil }

// yielding calls between before each turn, and during while a Detached command runs.
func yielding(between, during func(ctx context.Context, c engine.Corrector)) func(*engine.Transaction) {
	return func(tx *engine.Transaction) {
		tx.Host = workshop{}
		tx.Yield = func(ctx context.Context, done <-chan struct{}, c engine.Corrector) {
			if done == nil {
				between(ctx, c)
			} else {
				during(ctx, c)
			}
		}
	}
}

func pass(context.Context, engine.Corrector) {}

// paint makes things green.
func (m *machine) paint(names ...string) {
	for _, name := range names {
		m.things[name] = colored("green")
	}
}

// namesIn lists the names in a set.
func namesIn(set map[resource.Ref]bool) string {
	var names []string
	for ref := range set {
		names = append(names, ref.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestWhatCanBeCorrectedDuringARun(t *testing.T) {
	t.Parallel()
	m, store := newMachine(), newMemory()
	known, _, _ := paired(t, m, [][]string{{"Pair/generator", red}})
	known = append(known,
		m.item(t, "Thing/failing", red),
		m.item(t, "Thing/changed", red),
		m.item(t, "Thing/far-before", red),
		m.item(t, "Thing/before", red, "require:Thing/far-before"),
		m.work(t, "running", "require:Thing/before"),
		m.item(t, "Thing/after", red, "require:Work/running"),
		m.item(t, "Thing/far-after", red, "require:Thing/after"),
		m.item(t, "Thing/free", red),
		m.item(t, "Thing/after-free", red, "require:Thing/free"),
		m.item(t, "Thing/after-failing", red, "require:Thing/failing"),
		m.item(t, "Thing/after-new", red),
		m.item(t, "Crate/of-another-kind", red),
	)
	owned := func(tx *engine.Transaction) { tx.OwnerUID, tx.Kinds = "1", slices.Collect(maps.Values(m.kinds())) }
	left := holding(m.item(t, "Thing/left-the-catalog", red), resource.Delete)
	transact(t, append(slices.Clone(known), left), storing(store), owned, yielding(pass, pass))

	m.nested = map[string][]string{"generator": {"a=red"}}
	m.paint("failing", "changed", "running")
	m.fail["write failing"] = errBroken
	var first, last, during, waiting string
	correctable := func(c engine.Corrector) string { return namesIn(c.Correctable("Thing", "Pair", "Work")) }
	transact(t, append(known, m.item(t, "Thing/new", red, "before:Thing/after-new")), storing(store), owned, yielding(
		func(_ context.Context, c engine.Corrector) {
			if last = correctable(c); first == "" {
				first = last
			}
		},
		func(_ context.Context, c engine.Corrector) {
			during, waiting = correctable(c), namesIn(c.Waiting("Thing", "Pair", "Work"))
		},
	))
	for when, c := range map[string]struct{ got, want string }{
		"at first, what was managed together with what it depends on": {
			first, "after after-failing after-free before changed failing far-after far-before free generator running",
		},
		"during a command, what has neither failed nor a path to its resource": {during, "after-free changed free generator"},
		"during a command, what of that waits for its turn":                    {waiting, "after-free free"},
		"at the end, what has neither failed nor been changed":                 {last, "after after-free after-new before far-after far-before free"},
	} {
		if c.got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", when, c.got, c.want)
		}
	}
}

func TestCorrectionDuringACommand(t *testing.T) {
	t.Parallel()
	const corrected = "  color changed green to red (corrective)"
	for name, c := range map[string]struct {
		drifted []string
		after   []string          // what drifts once more while the command runs
		undoes  map[string]string // what drifts when another resource is corrected
		did     []string
		first   []string // correction
		want    []string // differences from a run in which only the command runs
	}{
		"may run a command, during which nothing is corrected": {
			drifted: []string{"Work/other"},
			did:     []string{"write other (color)", "write running (color)"},
			first:   []string{"Work/other Changed", corrected},
		},
		"is undone by the command, before the turn of the resource": {
			drifted: []string{"Thing/later"}, after: []string{"later"},
			did:   []string{"write later (color)", "write running (color)", "write later (color)"},
			first: []string{"Thing/later Changed", corrected},
			want:  []string{"Thing/later Changed", corrected},
		},
		"is undone by the command, after the turn of the resource": {
			drifted: []string{"Thing/earlier"}, after: []string{"earlier"},
			did:   []string{"write earlier (color)", "write running (color)"},
			first: []string{"Thing/earlier Changed", corrected},
			want:  []string{"Thing/earlier Failed", "  was undone in the same run, by Work/running: color is green, should be red"},
		},
		"is undone by another correction": {
			drifted: []string{"Thing/later", "Work/other"}, undoes: map[string]string{"other": "later"},
			did: []string{"write later (color)", "write other (color)", "write running (color)", "write later (color)"},
			first: []string{
				"Thing/later Failed", corrected, "  was undone in the same run, by Work/other: color is green, should be red",
				"Work/other Changed", corrected,
			},
			want: []string{"Thing/later Changed", corrected},
		},
		"leaves what has a check before the run": {
			drifted: []string{"Tree/checked"},
			did:     []string{"write running (color)", "write checked (color)"},
			want:    []string{"Tree/checked Changed", corrected},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, store := newMachine(), newMemory()
			items := []resource.Item{
				m.item(t, "Thing/earlier", red), m.work(t, "running"), m.item(t, "Thing/later", red), m.work(t, "other"),
				of(t, m.trees(func(names []string) []error { return make([]error, len(names)) }), "checked", red),
			}
			transact(t, items, storing(store), yielding(pass, pass))
			m.log = nil
			m.paint("running")
			m.onWrite = func(name string) {
				if undone := c.undoes[name]; undone != "" {
					m.paint(undone)
				}
			}
			drifted := map[resource.Ref]bool{}
			var corrections [][]string
			result := transact(t, items, storing(store), yielding(pass, func(ctx context.Context, corrector engine.Corrector) {
				for _, item := range items {
					if slices.Contains(c.drifted, item.Ref.String()) {
						drifted[item.Ref] = true
						m.paint(item.Ref.Name)
					}
				}
				result, err := corrector.Correct(ctx, drifted)
				if err != nil {
					t.Error(err)
				}
				corrections = append(corrections, lines(result))
				m.paint(c.after...)
			}))
			if diff := cmp.Diff([][]string{c.first}, corrections); diff != "" {
				t.Errorf("corrections (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.did, m.log); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
			result.Resources = slices.DeleteFunc(result.Resources, func(r report.ResourceReport) bool {
				return r.State == report.InSync || r.Ref.Name == "running"
			})
			if diff := cmp.Diff(c.want, lines(result)); diff != "" {
				t.Errorf("report without what is in sync (-want +got):\n%s", diff)
			}
		})
	}
}

// A correction that is not part of a run yields, too. What it leaves out waits for its turn.
func TestACorrectionYields(t *testing.T) {
	t.Parallel()
	m, store := newMachine(), newMemory()
	items := []resource.Item{m.work(t, "running"), m.item(t, "Thing/a", red), m.item(t, "Thing/b", red, "require:Thing/a")}
	transact(t, items, storing(store), yielding(pass, pass))
	m.paint("running")
	var between, waiting string
	drifted := map[resource.Ref]bool{items[0].Ref: true}
	tx := engine.Transaction{Now: stoodStill, Store: store}
	yielding(func(_ context.Context, c engine.Corrector) {
		between = namesIn(c.Correctable("Thing", "Work"))
	}, func(_ context.Context, c engine.Corrector) {
		waiting = namesIn(c.Waiting("Thing", "Work"))
	})(&tx)
	if _, err := tx.Correct(t.Context(), items, drifted, nil); err != nil {
		t.Fatal(err)
	}
	if between != "a b running" || waiting != "a b" {
		t.Errorf("between turns, %q can be corrected; during the command, %q is waiting", between, waiting)
	}
}
