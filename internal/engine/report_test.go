package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A slow provider takes a second to read.
type slow struct {
	plain
	now *time.Time
}

func (p slow) Read(ctx context.Context, h resource.Reader, want thing) (thing, error) {
	*p.now = p.now.Add(time.Second)
	return p.plain.Read(ctx, h, want)
}

// eventful has every state that a resource can end in, and every status that an event can have.
func eventful(t *testing.T, m *machine, now *time.Time) []resource.Item {
	t.Helper()
	tree := m.typ("Tree", []resource.Provider[thing]{slow{plain{m, "hand"}, now}})
	tree.Properties[1].Diff = func(is, want thing) string { return "-" + *is.Color + "\n+" + *want.Color }
	for _, name := range []string{"a", "oak", "s", "f", "h"} {
		m.things[name] = redThing(name)
	}
	*m.things["oak"].Color, *m.things["f"].Color = "green", "green"
	m.fail["secret f"] = errBroken
	items := []resource.Item{
		m.item(t, "Thing/a", red), of(t, tree, "oak", red), m.item(t, "Nest/n", red), m.item(t, "Thing/s", red, "subscribe:Tree/oak"),
		m.item(t, "Thing/p", red), m.item(t, "Thing/f", `{"color":"red","secret":"hush"}`), m.item(t, "Thing/g", red, "require:Thing/f"),
		m.auditing(t, m.item(t, "Thing/h", `{}`), "color"), act(t, m, "x"),
	}
	items[2].LogLevel, items[4].Noop = resource.LevelInfo, new(true)
	return items
}

func TestReportCoversTheWholeRun(t *testing.T) {
	m, store, now := newMachine(), newMemory(), stoodStill()
	m.onWrite = func(string) { now = now.Add(2 * time.Second) }
	store.observed[resource.Ref{Kind: "Tree", Name: "oak"}] = map[string]string{"color": "red"}
	store.audited[resource.Ref{Kind: "Thing", Name: "h"}] = map[string]string{"color": "blue"}

	got := transact(t, eventful(t, m, &now), storing(store), func(tx *engine.Transaction) {
		tx.Now = func() time.Time { return now }
		tx.HostName, tx.Digest = "web-1", "sha256-aa"
		tx.Before = map[string]time.Duration{report.FactGeneration: 3 * time.Second, report.ConfigRetrieval: time.Second}
	})

	const second = report.Duration(time.Second)
	ref := func(kind, name string) report.Ref { return report.Ref{Kind: kind, Name: name} }
	want := report.Report{
		Kind: "Report", APIVersion: "fettle.dev/v1alpha1", Host: "web-1", Status: "failed", CorrectiveChange: true,
		Started: stoodStill(), Duration: 8 * second, CatalogDigest: "sha256-aa",
		Counts: report.Counts{Total: 9, InSync: 2, Changed: 3, OutOfSync: 5, Failed: 1, Skipped: 1, Noop: 1, Refreshed: 1},
		Metrics: report.Metrics{
			Time: map[string]report.Duration{
				"Thing": 2 * second, "Tree": 4 * second, "Nest": 2 * second, "Act": 0,
				"total": 8 * second, "factGeneration": 3 * second, "configRetrieval": second,
			},
			Events: report.EventCounts{Total: 8, Success: 5, Failure: 1, Noop: 1, Audit: 1}, Changes: report.Total{Total: 5},
		},
		Resources: []report.ResourceReport{
			{Ref: ref("Thing", "a"), Provider: "hand", State: "InSync"},
			{Ref: ref("Tree", "oak"), Provider: "hand", State: "Changed", Duration: 4 * second, OutOfSync: true, Events: []report.Event{{
				Property: "color", Is: "green", Should: "red", Status: "success", Corrective: true, Message: "color changed green to red", Diff: "-green\n+red",
			}}},
			{Ref: ref("Nest", "n"), Provider: "bird", State: "Changed", Duration: 2 * second, OutOfSync: true, Events: []report.Event{{
				Property: "ensure", Is: "absent", Should: "present", Status: "success", Level: "info", Message: "created",
			}}},
			{Ref: ref("Thing", "s"), Provider: "hand", State: "Refreshed", Events: []report.Event{{Status: "success", Message: "refreshed by 1 event"}}},
			{Ref: ref("Thing", "p"), Provider: "hand", State: "Noop", OutOfSync: true, Differs: true, Events: []report.Event{{
				Property: "ensure", Is: "absent", Should: "present", Status: "noop", Message: "created",
			}}},
			{
				Ref: ref("Thing", "f"), Provider: "hand", State: "Failed", Duration: 2 * second, OutOfSync: true, Differs: true,
				Message: "change of secret from [redacted] to [redacted] failed: broken",
				Events: []report.Event{
					{Property: "color", Is: "green", Should: "red", Status: "success", Message: "color changed green to red"},
					{
						Property: "secret", Is: "[redacted]", Should: "[redacted]", Status: "failure", Level: "err",
						Message: "change of secret from [redacted] to [redacted] failed: broken",
					},
				},
			},
			{Ref: ref("Thing", "g"), State: "Skipped", Message: "skipped because of failed dependencies: Thing/f"},
			{Ref: ref("Thing", "h"), Provider: "hand", State: "InSync", Events: []report.Event{{
				Property: "color", Is: "red", Historical: "blue", Status: "audit",
				Message: "audit change: previously recorded value of color blue has been changed to red",
			}}},
			{Ref: ref("Act", "x"), Provider: "hand", State: "Changed", OutOfSync: true, Events: []report.Event{{
				Property: "ensure", Is: "absent", Should: "present", Status: "success", Message: "done", Output: "wrote x\nwell\n",
			}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestReportStatus(t *testing.T) {
	for name, test := range map[string]struct {
		color string // of what should be red
		due   bool   // a refresh is
		noop  bool
		want  string
	}{
		"all is in sync":                    {color: "red", want: "unchanged"},
		"something was changed":             {color: "blue", want: "changed"},
		"something was refreshed, and only": {color: "red", due: true, want: "changed"},
		"something would be changed":        {color: "blue", noop: true, want: "unchanged"},
		"something would be refreshed":      {color: "red", due: true, noop: true, want: "unchanged"},
	} {
		t.Run(name, func(t *testing.T) {
			m, store := newMachine(), newMemory()
			m.things["s"] = thing{Name: "s", Ensure: new("present"), Color: &test.color}
			if test.due {
				store.armed[resource.Ref{Kind: "Thing", Name: "s"}] = 1
			}
			got := transact(t, []resource.Item{m.item(t, "Thing/s", red)}, storing(store), func(tx *engine.Transaction) { tx.Noop = test.noop })
			if got.Status != test.want || got.Noop != test.noop {
				t.Errorf("the run is %s, noop %t", got.Status, got.Noop)
			}
		})
	}
}
