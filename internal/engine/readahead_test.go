package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// A watched provider counts its reads.
type watched struct {
	plain
	mu    *sync.Mutex
	reads map[string]int
	waits map[string]func(context.Context) // by name: what reads wait for
}

func (p watched) Read(ctx context.Context, h resource.Reader, want thing) (thing, error) {
	_, err := resource.Once(h, "glance", func() (int, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.reads["glance"]++
		return 0, nil
	})
	if wait := p.waits[want.Name]; wait != nil {
		wait(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads[want.Name]++
	if err != nil {
		return thing{}, err
	}
	return p.plain.Read(ctx, h, want)
}

// leaves returns n red resources that may be read ahead, and the provider of their kind.
func leaves(t *testing.T, m *machine, n int) ([]resource.Item, watched) {
	t.Helper()
	p := watched{plain{m, "hand"}, new(sync.Mutex), map[string]int{}, map[string]func(context.Context){}}
	typ := m.typ("Leaf", []resource.Provider[thing]{p})
	typ.ReadAhead = true
	kind := bound.Kind(typ)
	items := make([]resource.Item, n)
	for i := range items {
		ref := resource.Ref{Kind: "Leaf", Name: fmt.Sprintf("l%03d", i)}
		r, err := kind.Bind(ref, json.RawMessage(red))
		if err != nil {
			t.Fatal(err)
		}
		items[i] = resource.Item{Ref: ref, Resource: r}
		m.things[ref.Name] = redThing(ref.Name)
	}
	return items, p
}

func TestReadingAhead(t *testing.T) {
	const n = 300
	t.Run("reads each resource once, before its turn, and shared data once", func(t *testing.T) {
		m := newMachine()
		items, p := leaves(t, m, n)
		var before int // reads when the first resource ended
		result := transact(t, items, func(tx *engine.Transaction) {
			tx.Observe = func(res report.ResourceReport) {
				if res.Ref.Name == "l000" {
					p.mu.Lock()
					defer p.mu.Unlock()
					before = len(p.reads)
				}
			}
		})
		glances := p.reads["glance"]
		delete(p.reads, "glance")
		for name, reads := range p.reads {
			if reads != 1 {
				t.Errorf("%s was read %d times", name, reads)
			}
		}
		if result.Counts.InSync != n || len(p.reads) != n || before < n/10 || glances > 5 {
			t.Errorf("%d in sync, %d read, %d of them before the first ended, %d glances", result.Counts.InSync, len(p.reads), before, glances)
		}
	})
	t.Run("goes on while resources have their turns", func(t *testing.T) {
		m := newMachine()
		items, p := leaves(t, m, n)
		ended, overlapped := make(chan struct{}), false
		p.waits["l250"] = func(context.Context) {
			select {
			case <-ended:
				overlapped = true
			case <-time.After(time.Minute):
			}
		}
		result := transact(t, items, func(tx *engine.Transaction) {
			tx.Observe = func(res report.ResourceReport) {
				if res.Ref.Name == "l100" {
					close(ended)
				}
			}
		})
		if result.Counts.InSync != n || p.reads["l250"] != 1 || !overlapped {
			t.Errorf("%d in sync, l250 was read %d times, after l100 had ended: %t", result.Counts.InSync, p.reads["l250"], overlapped)
		}
	})
	t.Run("is interrupted by a write", func(t *testing.T) {
		m := newMachine()
		items, p := leaves(t, m, n)
		m.things["l100"] = thing{Name: "l100", Ensure: new("present"), Color: new("blue")}
		interrupted := 0
		p.waits["l250"] = func(ctx context.Context) {
			if interrupted++; interrupted == 1 {
				<-ctx.Done()
			}
		}
		m.onWrite = func(string) { m.things["l250"] = thing{Name: "l250", Ensure: new("present"), Color: new("green")} }
		result := transact(t, items)
		if diff := cmp.Diff([]string{"write l100 (color)", "write l250 (color)"}, m.log); diff != "" {
			t.Errorf("what was done (-want +got):\n%s", diff)
		}
		if result.Counts.Changed != 2 || result.Counts.InSync != n-2 {
			t.Errorf("counts are %+v", result.Counts)
		}
	})
	t.Run("is invalidated by a write", func(t *testing.T) {
		m := newMachine()
		items, _ := leaves(t, m, n)
		m.things["l005"] = thing{Name: "l005", Ensure: new("present"), Color: new("blue")}
		m.onWrite = func(name string) { // the first change undoes another resource
			if name == "l005" {
				m.things["l007"] = thing{Name: "l007", Ensure: new("present"), Color: new("green")}
			}
		}
		result := transact(t, items)
		if diff := cmp.Diff([]string{"write l005 (color)", "write l007 (color)"}, m.log); diff != "" {
			t.Errorf("what was done (-want +got):\n%s", diff)
		}
		if result.Counts.Changed != 2 || result.Counts.InSync != n-2 {
			t.Errorf("counts are %+v", result.Counts)
		}
	})
	t.Run("is invalidated for a resource that waits for a later one", func(t *testing.T) {
		m := newMachine()
		items, _ := leaves(t, m, n)
		items[5].Require = []resource.Ref{items[n-1].Ref}
		m.things["l299"] = thing{Name: "l299", Ensure: new("present"), Color: new("blue")}
		m.onWrite = func(name string) {
			if name == "l299" {
				m.things["l005"] = thing{Name: "l005", Ensure: new("present"), Color: new("green")}
			}
		}
		transact(t, items)
		if diff := cmp.Diff([]string{"write l299 (color)", "write l005 (color)"}, m.log); diff != "" {
			t.Errorf("what was done (-want +got):\n%s", diff)
		}
	})
	t.Run("is cheap if everything changes", func(t *testing.T) {
		m := newMachine()
		items, p := leaves(t, m, n)
		clear(m.things)
		result := transact(t, items)
		delete(p.reads, "glance")
		total := 0
		for _, reads := range p.reads {
			total += reads
		}
		// Once before and once after each write, and what the first windows read in vain.
		if result.Counts.Changed != n || total > 2*n+100 {
			t.Errorf("%d changed with %d reads", result.Counts.Changed, total)
		}
	})
	t.Run("retries a missing provider", func(t *testing.T) {
		m := newMachine()
		m.suits["tool"] = errBroken
		m.onWrite = func(string) { delete(m.suits, "tool") }
		typ := m.typ("Leaf", []resource.Provider[thing]{plain{m, "hand"}, plain{m, "tool"}})
		typ.ReadAhead = true
		leaf := func(name, provider string) resource.Item {
			r, err := bound.Kind(typ).Bind(resource.Ref{Kind: "Leaf", Name: name}, json.RawMessage(red))
			if err != nil {
				t.Fatal(err)
			}
			return resource.Item{Ref: r.Ref(), Resource: r, Provider: provider}
		}
		transact(t, []resource.Item{leaf("a", "hand"), leaf("b", "tool"), m.item(t, "Thing/x", red)})
		if diff := cmp.Diff([]string{"write a (ensure)", "write b (ensure)", "write x (ensure)"}, m.log); diff != "" {
			t.Errorf("what was done (-want +got):\n%s", diff)
		}
	})
	t.Run("is limited to types that allow it and resources that have not ended", func(t *testing.T) {
		m := newMachine()
		items, p := leaves(t, m, 3)
		items[0].Require = []resource.Ref{items[2].Ref}
		m.things["x"] = redThing("x")
		m.things["l001"] = colored("blue")
		m.onWrite = func(string) { m.things["x"] = colored("green") }
		items = []resource.Item{items[0], items[1], invalid("Leaf/y"), m.item(t, "Thing/x", red), items[2]}
		want := []string{
			"Leaf/l001 Changed", "  color changed blue to red", "Leaf/y Failed", "  broken",
			"Thing/x Changed", "  color changed green to red", "Leaf/l002 InSync", "Leaf/l000 InSync",
		}
		if diff := cmp.Diff(want, lines(transact(t, items))); diff != "" {
			t.Errorf("report (-want +got):\n%s", diff)
		}
		delete(p.reads, "glance")
		if diff := cmp.Diff(map[string]int{"l000": 1, "l001": 2, "l002": 2}, p.reads); diff != "" {
			t.Errorf("reads (-want +got):\n%s", diff)
		}
	})
	t.Run("fails no resource before its turn", func(t *testing.T) {
		m := newMachine()
		items, _ := leaves(t, m, 3)
		m.things["l000"] = thing{Name: "l000", Ensure: new("present"), Color: new("blue")}
		m.fail["read l002"] = errBroken
		m.onWrite = func(string) { delete(m.fail, "read l002") }
		want := []string{"Leaf/l000 Changed", "  color changed blue to red", "Leaf/l001 InSync", "Leaf/l002 InSync"}
		if diff := cmp.Diff(want, lines(transact(t, items))); diff != "" {
			t.Errorf("report (-want +got):\n%s", diff)
		}
		m.fail["read l002"] = errBroken
		items, _ = leaves(t, m, 3)
		if got := strings.Join(lines(transact(t, items)), "\n"); !strings.Contains(got, "Leaf/l002 Failed") {
			t.Errorf("a state that can't be read at its turn: %s", got)
		}
	})
}

func TestBatchWriteTimeIsDividedAmongResources(t *testing.T) {
	m := newMachine()
	now := stoodStill()
	m.onWrite = func(string) { now = now.Add(2 * time.Second) }
	result := transact(t, []resource.Item{m.item(t, "Crate/a", red), m.item(t, "Crate/b", red)}, func(tx *engine.Transaction) {
		tx.Now = func() time.Time { return now }
	})
	for _, res := range result.Resources {
		if res.Duration != report.Duration(2*time.Second) {
			t.Errorf("%s took %v of %v", res.Ref, res.Duration, result.Duration)
		}
	}
}

func TestBatchReadTimeIsDividedAmongResources(t *testing.T) {
	m := newMachine()
	items, p := leaves(t, m, 3)
	result := transact(t, items, func(tx *engine.Transaction) {
		tx.Now = func() time.Time { // each of them takes two seconds to read
			p.mu.Lock()
			defer p.mu.Unlock()
			return stoodStill().Add(time.Duration(p.reads["l000"]+p.reads["l001"]+p.reads["l002"]) * 2 * time.Second)
		}
	})
	for _, res := range result.Resources {
		if res.Duration != report.Duration(2*time.Second) {
			t.Errorf("%s took %v of %v", res.Ref, res.Duration, result.Duration)
		}
	}
}

// A careful provider starts nothing once its run has to stop.
type careful struct{ plain }

func (p careful) WriteAll(ctx context.Context, h resource.Writer, writes []resource.Write[thing]) []error {
	errs := make([]error, len(writes))
	for i, w := range writes {
		if errs[i] = resource.ErrNotBegun; h.Stopped() == nil {
			errs[i] = p.Write(ctx, h, w.Is, w.Want, w.Changes)
		}
	}
	return errs
}

func TestStoppedRunStartsNoMoreOfABatch(t *testing.T) {
	m := newMachine()
	kind := bound.Kind(m.typ("Leaf", []resource.Provider[thing]{careful{plain{m, "hand"}}}))
	var items []resource.Item
	for _, name := range []string{"a", "b", "c", "d"} {
		ref := resource.Ref{Kind: "Leaf", Name: name}
		r, err := kind.Bind(ref, json.RawMessage(red))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, resource.Item{Ref: ref, Resource: r})
	}
	ctx, stop := context.WithCancel(t.Context())
	m.onWrite = func(name string) {
		if name == "b" {
			stop()
		}
	}
	result, err := (engine.Transaction{Host: struct{ host.Host }{}, Now: stoodStill}).Run(ctx, items)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Leaf/a Changed", "  created", "Leaf/b Changed", "  created",
		"Leaf/c Skipped", "  the run was stopped before its turn", "Leaf/d Skipped", "  the run was stopped before its turn",
	}
	if diff := cmp.Diff(want, lines(result)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"write a (ensure)", "write b (ensure)"}, m.log); diff != "" {
		t.Errorf("what was done (-want +got):\n%s", diff)
	}
}
