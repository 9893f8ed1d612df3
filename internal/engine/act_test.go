package engine_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// An acting provider runs an action that leaves no trace on the machine, and reports output.
type acting struct{ plain }

func (p acting) Write(_ context.Context, h resource.Writer, _, want thing, _ []resource.Change) error {
	p.m.did("act %s", want.Name)
	h.Note("wrote " + want.Name + "\nwell\n")
	return p.m.fail["write "+want.Name]
}

func (p acting) Refresh(_ context.Context, h resource.Writer, _, want thing) error {
	p.m.did("refresh %s", want.Name)
	h.Note("refreshed\n")
	return nil
}

func act(t *testing.T, m *machine, name string, notify ...resource.Ref) resource.Item {
	t.Helper()
	typ := m.typ("Act", []resource.Provider[thing]{acting{plain{m, "hand"}}})
	typ.Imperative = true
	typ.Properties[0].Done = "done"
	ref := resource.Ref{Kind: "Act", Name: name}
	r, err := bound.Kind(typ).Bind(ref, json.RawMessage(`{"ensure":"present"}`))
	if err != nil {
		t.Fatal(err)
	}
	return resource.Item{Ref: ref, Resource: r, Notify: notify}
}

func TestImperativeResource(t *testing.T) {
	once := []string{"Act/a Changed", "  output: wrote a", "  output: well", "  done"}
	twice := []string{"Act/b Changed", "  output: wrote b", "  output: well", "  done", "  output: refreshed", "  refreshed by 1 event"}
	b := resource.Ref{Kind: "Act", Name: "b"}
	for name, test := range map[string]struct {
		fail map[string]error
		with []func(*engine.Transaction)
		did  []string
		want []string
	}{
		"is not verified, and notifies its dependents": {
			did: []string{"act a", "act b", "refresh b"}, want: append(once, twice...),
		},
		"reports its output if it fails": {
			fail: map[string]error{"write a": errBroken},
			did:  []string{"act a"},
			want: []string{
				"Act/a Failed", "  output: wrote a", "  output: well", "  change of ensure from absent to present failed: broken",
				"Act/b Skipped", "  skipped because of failed dependencies: Act/a",
			},
		},
		"is reported as pending in noop": {
			with: []func(*engine.Transaction){noop},
			want: []string{"Act/a Noop", "  created (noop)", "Act/b Noop", "  created (noop)", "  would have been refreshed by 1 event (noop) (unknown: runs its refresh)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			m.fail = test.fail
			report := transact(t, []resource.Item{act(t, m, "a", b), act(t, m, "b")}, test.with...)
			if diff := cmp.Diff(test.want, lines(report)); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.did, m.log); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImperativeResourceIsNeverCorrective(t *testing.T) {
	m, store := newMachine(), newMemory()
	for range 2 {
		report := transact(t, []resource.Item{act(t, m, "a")}, storing(store))
		if report.CorrectiveChange || report.Counts.Changed != 1 || len(store.observed[resource.Ref{Kind: "Act", Name: "a"}]) > 0 {
			t.Errorf("corrective %v, counts %+v, remembered %v", report.CorrectiveChange, report.Counts, store.observed)
		}
	}
}
