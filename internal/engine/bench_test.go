package engine_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// The time per item is reported too: it must not grow with the number of items.
func BenchmarkRun(b *testing.B) {
	for name, shape := range map[string]func(i, n int) item{
		"in sync":     func(int, int) item { return item{kind: "Thing"} },
		"read ahead":  func(int, int) item { return item{kind: "Crate"} },
		"all in turn": func(i, _ int) item { return item{kind: "Thing", require: i - 1} },
		"one after a thing each": func(i, _ int) item {
			if i%2 == 0 {
				return item{kind: "Thing"}
			}
			return item{kind: "Crate", require: i - 1}
		},
		"a cycle of all": func(i, n int) item { return item{kind: "Thing", require: (i + n - 1) % n} },
	} {
		for _, n := range []int{1_000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) { benchmarkRun(b, n, shape) })
		}
	}
}

// item is one of a benchmark: what it requires is another's number, 0 for none.
type item struct {
	kind    string
	require int
}

func benchmarkRun(b *testing.B, n int, shape func(i, n int) item) {
	b.Helper()
	m := newMachine()
	kinds := m.kinds()
	items := make([]resource.Item, n)
	ref := func(i int) resource.Ref {
		return resource.Ref{Kind: shape(i, n).kind, Name: fmt.Sprint("n", i)}
	}
	for i := range items {
		items[i] = resource.Item{Ref: ref(i)}
		if r := shape(i, n).require; r > 0 {
			items[i].Require = []resource.Ref{ref(r)}
		}
		m.things[items[i].Ref.Name] = thing{Name: items[i].Ref.Name, Ensure: new("present"), Color: new("red")}
	}
	for b.Loop() {
		b.StopTimer() // a resource is bound for one run
		for i, it := range items {
			items[i].Resource, items[i].Invalid = kinds[it.Ref.Kind].Bind(it.Ref, json.RawMessage(red))
		}
		b.StartTimer()
		if _, err := (engine.Transaction{Host: struct{ host.Host }{}, Now: stoodStill}).Run(b.Context(), items); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/item")
}

func BenchmarkDecide(b *testing.B) {
	s := decide.Situation{Changes: []resource.Change{{Property: "color"}}, ChangesDone: true, Events: decide.Events{Real: 1}, CanRefresh: true}
	for b.Loop() {
		decide.Decide(s)
	}
}
