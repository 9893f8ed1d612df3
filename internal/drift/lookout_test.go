package drift_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/drift"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// file is a File as a run has it: bound again each time.
func file(t *testing.T, name, path string) resource.Item {
	t.Helper()
	raw, err := json.Marshal(map[string]string{"path": path})
	must(t, err)
	for _, k := range providers.Kinds() {
		if k.Name() == "File" {
			ref := resource.Ref{Kind: "File", Name: name}
			r, err := k.Bind(ref, raw)
			must(t, err)
			return resource.Item{Ref: ref, Resource: r}
		}
	}
	t.Fatal("there is no kind File")
	return resource.Item{}
}

func look(t *testing.T) (*drift.Lookout, *linux.Host, string) {
	t.Helper()
	root := t.TempDir()
	h, err := linux.Open(linux.Options{Root: root})
	must(t, err)
	l, err := drift.New(h, time.Hour)
	must(t, err)
	t.Cleanup(func() { _, _ = l.Close(), h.Close() })
	return l, h, root
}

// run is a run of these resources, in which something happens.
func run(t *testing.T, l *drift.Lookout, h host.Reader, happens func(), changed []resource.Ref, items ...resource.Item) {
	t.Helper()
	must(t, l.Begin(start, items, nil))
	for _, i := range items {
		must(t, i.Resource.Choose(nil, h, ""))
	}
	happens()
	must(t, l.End(start, items, changed))
}

func nothing() {}

func TestLookoutDetectsChangesDuringTheFirstRun(t *testing.T) {
	l, h, root := look(t)
	change := func() { put(t, root, "a") }
	run(t, l, h, change, nil, file(t, "a", "/a"))
	if want := start.Add(drift.Settle); !l.Due().Equal(want) {
		t.Errorf("due at %s, want %s", l.Due(), want)
	}
}

func TestLookoutRechecksTheRunsOwnChanges(t *testing.T) {
	l, h, root := look(t)
	change := func() { put(t, root, "a") }
	run(t, l, h, change, []resource.Ref{{Kind: "File", Name: "a"}}, file(t, "a", "/a"))
	if want := start.Add(drift.Again); !l.Due().Equal(want) {
		t.Errorf("due at %s, want %s", l.Due(), want)
	}
	run(t, l, h, nothing, nil, file(t, "a", "/a"))
	if !l.Due().IsZero() {
		t.Errorf("due again at %s", l.Due())
	}
}

func TestLookoutFollowsTheCurrentResources(t *testing.T) {
	l, h, root := look(t)
	run(t, l, h, nothing, nil, file(t, "a", "/a"))
	run(t, l, h, nothing, nil, file(t, "b", "/b"))
	put(t, root, "a")
	l.See(start)
	if !l.Due().IsZero() {
		t.Error("what is no resource any more is looked at")
	}
	put(t, root, "b")
	patient.Receive(t, "the change is seen", l.Ready())
	l.See(start)
	if l.Due().IsZero() {
		t.Error("what is a new resource is not looked at")
	}
	l.Forget()
	if !l.Due().IsZero() {
		t.Error("what was to be forgotten is due")
	}
}

func TestHostWithoutNotificationsIsNotWatched(t *testing.T) {
	l, err := drift.New(struct{ host.Reader }{}, time.Hour)
	if !errors.Is(err, drift.ErrCannotWatch) || l != nil {
		t.Errorf("got %v, %v", l, err)
	}
	l.See(start)
	l.Forget()
	must(t, errors.Join(l.Begin(start, nil, nil), l.End(start, nil, nil), l.Close()))
	if l.Ready() != nil || !l.Due().IsZero() {
		t.Error("there is something to see")
	}
}

func put(t *testing.T, root, name string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(root, name), []byte(time.Now().String()), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Two resources have the same path.
func TestRunFollowsSoonIfAPartialOneHandledNotAllResourcesOfAPath(t *testing.T) {
	for name, c := range map[string]struct {
		can  []string
		want time.Duration
	}{
		"one of them": {[]string{"a"}, 250 * time.Millisecond},
		"both":        {[]string{"a", "b"}, drift.CheckEverything},
	} {
		t.Run(name, func(t *testing.T) {
			l, h, root := look(t)
			items := []resource.Item{file(t, "a", "/f"), file(t, "b", "/f")}
			run(t, l, h, nothing, nil, items...)
			must(t, os.WriteFile(filepath.Join(root, "f"), nil, 0o600))
			can := map[resource.Ref]bool{}
			for _, name := range c.can {
				can[resource.Ref{Kind: "File", Name: name}] = true
			}
			if drifted := l.BeginPartial(start, can); len(drifted) != len(can) {
				t.Errorf("drifted: %v", drifted)
			}
			must(t, l.EndAside(start, nil))
			if got := l.Due().Sub(start); got != c.want {
				t.Errorf("the run is due after %s, want %s", got, c.want)
			}
		})
	}
}
