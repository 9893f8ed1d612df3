package external_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/external"
)

// lamp is a resource of an adapter. KIND stands for the adapter's kind of input.
const lamp = `
metadata: {name: lamps}
spec:
  kind: Lamp
  protocol: DSC
  version: 1.0.0
  description: Manages a lamp.
  requests: [List]
  attributes:
  - {name: name, description: Its name., behaviour: Namevar, schema: {type: string}}
  - {name: power, description: Its power., schema: {type: string}}
  - {name: key, description: A key., behaviour: Parameter, sensitive: true, schema: {type: string}}
  - {name: validationMode, description: Who decides., behaviour: Parameter, schema: {type: string}}
  ensure: {values: [present], features: {absent: removable}}
  features: [{name: removable, description: Lamps can be removed.}]
  dsc:
    existence: _exist
    validationMode: true
    adapted: {type: Example/Lamp, version: 2.0.0}
    manifest:
      type: Example/Adapter
      version: 1.0.0
      kind: adapter
      adapter: {inputKind: KIND}
      get: {executable: adapter, args: [get], input: stdin}
      set: {executable: adapter, args: [set], input: stdin, handlesExist: true, return: state}
      test: {executable: adapter, args: [test], input: stdin, return: state}
      export: {executable: adapter, args: [export], input: stdin}
  providers: [{name: dsc, features: [removable]}]
  source: {files: {manifest: x}}
`

// A house has lamps, which an adapter manages.
type house struct {
	enginetest.Machine
	lamps map[string]string
	calls []string // the command and the names of each call
}

// instance is a resource in a configuration.
type instance struct {
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	Properties map[string]any `json:"properties,omitempty"`
}

func newHouse(t *testing.T, kind string) *house {
	t.Helper()
	h := hosttest.New(t)
	house := &house{lamps: map[string]string{}}
	h.Handle("adapter", func(cmd host.Cmd) host.Result {
		var configuration struct{ Resources []instance }
		if err := json.Unmarshal(cmd.Stdin, &configuration); err != nil {
			return host.Result{ExitCode: 1, Stderr: []byte(err.Error())}
		}
		return house.answer(cmd.Args[1], configuration.Resources)
	})
	k := external.Kind(define(t, strings.Replace(lamp, "KIND", kind, 1)), store.New(h, "/var/lib/fettle/programs"))
	if err := k.Problems(); err != nil {
		t.Fatal(err)
	}
	house.Machine = enginetest.Machine{Host: h, Kinds: []resource.Kind{k}}
	return house
}

func (h *house) answer(command string, all []instance) host.Result {
	call := command
	for _, r := range all {
		call += " " + r.Name
	}
	h.calls = append(h.calls, call)
	results, right := []instance{}, true
	for _, r := range all {
		name, _ := r.Properties["name"].(string)
		if strings.HasPrefix(name, "broken") {
			return host.Result{ExitCode: 1, Stderr: []byte(fmt.Sprintf(`{"error":"no light with %v"}`, r.Properties["key"]))}
		}
		if command == "set" {
			h.lamps[name], _ = r.Properties["power"].(string)
			if r.Properties["_exist"] == false {
				delete(h.lamps, name)
			}
		}
		power, ok := h.lamps[name]
		right = right && power == r.Properties["power"]
		r.Properties = map[string]any{"name": name, "power": power, "_exist": ok}
		if command == "test" {
			r.Properties = map[string]any{"InDesiredState": right}
		}
		results = append(results, r)
	}
	output, _ := json.Marshal(map[string]any{"result": results, "_inDesiredState": right})
	return host.Result{Stdout: output}
}

func TestAdapterReadsManyAndChangesOne(t *testing.T) {
	t.Parallel()

	for _, kind := range []string{"full", "sequence"} {
		h := newHouse(t, kind)
		report := h.Apply(t, `Lamp/a {power: "1"}`, `Lamp/b {power: "2"}`, `Lamp/c {power: "3"}`)
		equal(t, []string{"Lamp/a: created", "Lamp/b: created", "Lamp/c: created"}, report)
		equal(t, []string{"get a b c", "set a", "get a", "set b", "get b", "set c", "get c"}, h.calls)
		h.calls = nil
		equal(t, []string{"Lamp/b: removed"}, h.Apply(t, `Lamp/a {power: "1"}`, `Lamp/b {ensure: absent}`, `Lamp/c {power: "3"}`))
		equal(t, map[string]string{"a": "1", "c": "3"}, h.lamps)
	}
}

func TestResourceThatAnAdapterCannotReadFailsNoOther(t *testing.T) {
	t.Parallel()

	h := newHouse(t, "full")
	h.Noop = true
	var all []string
	for i := range 20 {
		h.lamps[fmt.Sprintf("a%d", i)] = "1"
		all = append(all, fmt.Sprintf(`Lamp/a%d {power: "1"}`, i))
	}
	report := h.Apply(t, append(all, `Lamp/broken {power: "1", key: s3cret}`)...)
	equal(t, []string{"Lamp/broken: cannot read the present state: get: the command exited with 1: no light with [redacted]"}, report)
	if n := len(h.calls); n > 17 {
		t.Errorf("%d processes read them: %q", n, h.calls)
	}
}

func TestAdapterThatFailsForAllIsNotAskedForEach(t *testing.T) {
	t.Parallel()

	h := newHouse(t, "full")
	h.Noop = true
	var all []string
	for i := range 100 {
		all = append(all, fmt.Sprintf(`Lamp/broken%d {power: "1", key: s3cret%d}`, i, i))
	}
	report := h.Apply(t, all...)
	if len(report) != 100 || len(h.calls) > 17 || strings.Contains(strings.Join(report, "\n"), "s3cret") {
		t.Errorf("%d lines after %d calls\n%s", len(report), len(h.calls), strings.Join(report, "\n"))
	}
}

func TestTestOfAnAdapterDecides(t *testing.T) {
	t.Parallel()

	h := newHouse(t, "full")
	h.Noop, h.lamps = true, map[string]string{"a": "1", "b": "1"}
	report := h.Apply(t, `Lamp/a {power: "1", validationMode: resource}`, `Lamp/b {power: "2", validationMode: resource}`)
	equal(t, []string{"Lamp/b: power changed 1 to 2 (noop) (unknown: runs the program of the type)"}, report)
	equal(t, []string{"get a", "get b", "test a", "test b"}, slices.Sorted(slices.Values(h.calls)))
}
