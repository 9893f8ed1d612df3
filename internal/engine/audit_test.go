package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
)

// auditing returns an item with audited properties.
func (m *machine) auditing(t *testing.T, item resource.Item, properties ...string) resource.Item {
	t.Helper()
	item.Audit = true
	if err := item.Resource.Audit(properties); err != nil {
		t.Fatal(err)
	}
	return item
}

// An audited thing in one run after the other: what is done to it before each, and what
// each tells.
func TestAudit(t *testing.T) {
	const first = "  audit change: newly-recorded value of color is red"
	paint := func(color string) func(*machine) {
		return func(m *machine) { a := m.things["a"]; a.Color = new(color); m.things["a"] = a }
	}
	noThing := func(m *machine) { delete(m.things, "a") }
	for name, test := range map[string]struct {
		attributes string
		runs       []func(*machine)
		with       []func(*engine.Transaction)
		want       []string
	}{
		"records an unmanaged value, and reports a change once": {
			attributes: `{}`, runs: []func(*machine){nothing, paint("blue"), nothing},
			want: []string{
				"Thing/a InSync", first,
				"Thing/a InSync", "  audit change: previously recorded value of color red has been changed to blue",
				"Thing/a InSync",
			},
		},
		"reports the change and the correction of a managed property": {
			attributes: red, runs: []func(*machine){nothing, paint("blue"), nothing},
			want: []string{
				"Thing/a InSync", first,
				"Thing/a Changed", "  audit change: previously recorded value of color red has been changed to blue", "  color changed blue to red (corrective)",
				"Thing/a InSync",
			},
		},
		"does not report the run's own changes": {
			attributes: `{"color":"blue"}`, runs: []func(*machine){nothing, nothing},
			want: []string{"Thing/a Changed", first, "  color changed red to blue", "Thing/a InSync"},
		},
		"reports a removed thing as absent": {
			attributes: `{}`, runs: []func(*machine){nothing, noThing},
			want: []string{"Thing/a InSync", first, "Thing/a InSync", "  audit change: previously recorded value of color red has been changed to absent"},
		},
		"reports a new thing as formerly absent": {
			attributes: `{}`, runs: []func(*machine){noThing, func(m *machine) { m.things["a"] = redThing("a") }},
			want: []string{
				"Thing/a InSync", "  audit change: newly-recorded value of color is absent",
				"Thing/a InSync", "  audit change: previously recorded value of color absent has been changed to red",
			},
		},
		"neither reports nor forgets an unreadable thing": {
			attributes: `{}`,
			runs:       []func(*machine){nothing, func(m *machine) { m.fail["read a"] = errBroken }, func(m *machine) { delete(m.fail, "read a") }},
			want:       []string{"Thing/a InSync", first, "Thing/a Failed", "  cannot read the present state: broken", "Thing/a InSync"},
		},
		"in a run that only reports forgets again": {
			attributes: `{}`, runs: []func(*machine){nothing, nothing}, with: []func(*engine.Transaction){noop},
			want: []string{"Thing/a InSync", first, "Thing/a InSync", first},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, store := newMachine(), newMemory()
			m.things["a"] = redThing("a")
			var got []string
			for _, given := range test.runs {
				given(m)
				item := m.auditing(t, m.item(t, "Thing/a", test.attributes), "color")
				got = append(got, lines(transact(t, []resource.Item{item}, append(test.with, storing(store))...))...)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func nothing(*machine) {}

func TestAuditOfAllReportsThatSecretsChanged(t *testing.T) {
	m, store := newMachine(), newMemory()
	var got []string
	for _, secret := range []string{"tulip", "tulip", "daffodil"} {
		a := redThing("a")
		a.Secret = &secret
		m.things["a"] = a
		result := transact(t, []resource.Item{m.auditing(t, m.item(t, "Thing/a", `{}`), "all")}, storing(store))
		got = append(got, lines(result)...)
		text, err := json.Marshal([]any{result, store.audited[resource.Ref{Kind: "Thing", Name: "a"}]})
		if err != nil || strings.Contains(string(text), secret) {
			t.Errorf("%v: the secret shows in %s", err, text)
		}
	}
	want := []string{
		"Thing/a InSync",
		"  audit change: newly-recorded value of ensure is present",
		"  audit change: newly-recorded value of color is red",
		"  audit change: newly-recorded value of size is absent",
		"  audit change: newly-recorded value of secret is [redacted]",
		"Thing/a InSync",
		"Thing/a InSync",
		"  audit change: previously recorded value of secret [redacted] has been changed to [redacted]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// Changes that an audit finds notify too, not only those that the run makes.
func TestAuditedChangeTriggersRefresh(t *testing.T) {
	m, store := newMachine(), newMemory()
	for _, n := range []string{"a", "s"} {
		m.things[n] = redThing(n)
	}
	run := func(with ...func(*engine.Transaction)) report.Report {
		return transact(t, []resource.Item{
			m.auditing(t, m.item(t, "Thing/a", `{}`, "notify:Thing/s"), "color"), m.item(t, "Thing/s", red),
		}, append(with, storing(store))...)
	}
	run()
	a := m.things["a"]
	a.Color = new("blue")
	m.things["a"] = a
	const told = "  audit change: previously recorded value of color red has been changed to blue"
	want := []string{"Thing/a InSync", told, "Thing/s Noop", "  would have been refreshed by 1 event (noop) (unknown: runs its refresh)"}
	if diff := cmp.Diff(want, lines(run(noop))); diff != "" || len(store.armed) > 0 {
		t.Errorf("a run that only reports (-want +got):\n%s\ndue are %v", diff, store.armed)
	}
	result := run()
	want = []string{"Thing/a InSync", told, "Thing/s Refreshed", "  refreshed by 1 event"}
	if diff := cmp.Diff(want, lines(result)); diff != "" || result.Status != "changed" || len(store.armed) > 0 {
		t.Errorf("report (-want +got):\n%s\nstatus %s, due are %v", diff, result.Status, store.armed)
	}
	if diff := cmp.Diff([]string{"refresh s"}, m.log); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
}

func TestOnlyPropertiesCanBeAudited(t *testing.T) {
	m := newMachine()
	err := m.item(t, "Thing/a", `{}`).Resource.Audit([]string{"color", "near"})
	if want := `audit: Thing has no property "near"; write all, or ensure, color, size, secret`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	err = act(t, m, "a").Resource.Audit([]string{"all"})
	if want := "audit: resources of kind Act leave no state to audit; remove audit"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
