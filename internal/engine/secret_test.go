package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// safes returns existing things of a type that records its secrets.
func safes(t *testing.T, m *machine, failure error) []resource.Item {
	t.Helper()
	typ := m.typ("Safe", []resource.Provider[thing]{plain{m, "hand"}})
	typ.Secrets = map[string]func(*thing, string){"secret": func(a *thing, value string) { a.Secret = &value }}
	typ.RecordSecrets = func(_ context.Context, _ resource.Writer, wants []thing) error {
		var all []string
		for _, want := range wants {
			all = append(all, want.Name+"="+*want.Secret)
		}
		m.did("record %s", strings.Join(all, " "))
		return failure
	}
	var items []resource.Item
	for _, name := range []string{"a", "b"} {
		m.things[name] = thing{Name: name, Secret: new("old")}
		ref := resource.Ref{Kind: "Safe", Name: name}
		r, err := bound.Kind(typ).Bind(ref, json.RawMessage(`{}`), resource.Secret{Attribute: "secret", Value: "s3cret"})
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, resource.Item{Ref: ref, Resource: r})
	}
	return append(items, of(t, typ, "open", `{"color":"red"}`))
}

func TestSecretsAreRecordedBeforeARunChangesAnything(t *testing.T) {
	for name, test := range map[string]struct {
		with    []func(*engine.Transaction)
		failure error
		did     []string
		report  []string
	}{
		"including those of unselected resources": {
			with: []func(*engine.Transaction){func(tx *engine.Transaction) {
				tx.Selected = func(i resource.Item) bool { return i.Ref.Name == "a" }
			}},
			did:    []string{"record a=s3cret b=s3cret", "write a (secret)"},
			report: []string{"Safe/a Changed", "  changed secret", "Safe/b Skipped", "  not selected", "Safe/open Skipped", "  not selected"},
		},
		"and resources whose secrets can't be recorded fail": {
			failure: errors.New("the disk is full"),
			did:     []string{"record a=s3cret b=s3cret", "write open (color)"},
			report:  []string{"Safe/a Failed", "  the disk is full", "Safe/b Failed", "  the disk is full", "Safe/open Changed", "  color defined as red"},
		},
		"but not by a noop run": {
			with:   []func(*engine.Transaction){noop},
			report: []string{"Safe/a Noop", "  changed secret (noop)", "Safe/b Noop", "  changed secret (noop)", "Safe/open Noop", "  color defined as red (noop)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			m.things["open"] = thing{Name: "open"}
			report := transact(t, safes(t, m, test.failure), test.with...)
			if diff := cmp.Diff(test.did, m.log); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.report, lines(report)); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}
