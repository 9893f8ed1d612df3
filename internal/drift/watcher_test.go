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

// file is a File as a run has it.
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

func watch(t *testing.T) (*drift.Watcher, *linux.Host, string) {
	t.Helper()
	root := t.TempDir()
	h, err := linux.Open(linux.Options{Root: root})
	must(t, err)
	w, err := drift.New(h, time.Hour)
	must(t, err)
	t.Cleanup(func() { _, _ = w.Close(), h.Close() })
	return w, h, root
}

// run is a run of these resources, in which something happens.
func run(t *testing.T, w *drift.Watcher, h host.Reader, happens func(), changed []resource.Ref, items ...resource.Item) {
	t.Helper()
	must(t, w.BeginRun(start, items, nil))
	for _, i := range items {
		must(t, i.Resource.Choose(nil, h, ""))
	}
	happens()
	must(t, w.EndRun(start, items, changed))
}

func nothing() {}

func TestWatcherDetectsChangesDuringTheFirstRun(t *testing.T) {
	w, h, root := watch(t)
	change := func() { put(t, root, "a") }
	run(t, w, h, change, nil, file(t, "a", "/a"))
	if want := start.Add(drift.RunDebounce); !w.RunDue().Equal(want) {
		t.Errorf("due at %s, want %s", w.RunDue(), want)
	}
}

func TestWatcherRechecksTheRunsOwnChanges(t *testing.T) {
	w, h, root := watch(t)
	change := func() { put(t, root, "a") }
	run(t, w, h, change, []resource.Ref{{Kind: "File", Name: "a"}}, file(t, "a", "/a"))
	if want := start.Add(drift.RecheckDelay); !w.RunDue().Equal(want) {
		t.Errorf("due at %s, want %s", w.RunDue(), want)
	}
	run(t, w, h, nothing, nil, file(t, "a", "/a"))
	if !w.RunDue().IsZero() {
		t.Errorf("due again at %s", w.RunDue())
	}
}

func TestWatcherFollowsTheCurrentResources(t *testing.T) {
	w, h, root := watch(t)
	run(t, w, h, nothing, nil, file(t, "a", "/a"))
	run(t, w, h, nothing, nil, file(t, "b", "/b"))
	put(t, root, "a")
	w.Poll(start)
	if !w.RunDue().IsZero() {
		t.Error("what is no resource any more is watched")
	}
	put(t, root, "b")
	patient.Receive(t, "the change is seen", w.Ready())
	w.Poll(start)
	if w.RunDue().IsZero() {
		t.Error("what is a new resource is not watched")
	}
	w.Forget()
	if !w.RunDue().IsZero() {
		t.Error("what was to be forgotten is due")
	}
}

func TestHostWithoutNotificationsIsNotWatched(t *testing.T) {
	w, err := drift.New(struct{ host.Reader }{}, time.Hour)
	if !errors.Is(err, drift.ErrCannotWatch) || w != nil {
		t.Errorf("got %v, %v", w, err)
	}
	w.Poll(start)
	w.Forget()
	must(t, errors.Join(w.BeginRun(start, nil, nil), w.EndRun(start, nil, nil), w.Close()))
	if w.Ready() != nil || !w.RunDue().IsZero() {
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
func TestRunFollowsSoonIfACorrectionHandledNotAllResourcesOfAPath(t *testing.T) {
	for name, c := range map[string]struct {
		can  []string
		want time.Duration
	}{
		"one of them": {[]string{"a"}, 250 * time.Millisecond},
		"both":        {[]string{"a", "b"}, drift.FullCheckDelay},
	} {
		t.Run(name, func(t *testing.T) {
			w, h, root := watch(t)
			items := []resource.Item{file(t, "a", "/f"), file(t, "b", "/f")}
			run(t, w, h, nothing, nil, items...)
			must(t, os.WriteFile(filepath.Join(root, "f"), nil, 0o600))
			can := map[resource.Ref]bool{}
			for _, name := range c.can {
				can[resource.Ref{Kind: "File", Name: name}] = true
			}
			if drifted := w.BeginCorrection(start, can, false); len(drifted) != len(can) {
				t.Errorf("drifted: %v", drifted)
			}
			must(t, w.EndCorrection(start, nil, false))
			if got := w.RunDue().Sub(start); got != c.want {
				t.Errorf("the run is due after %s, want %s", got, c.want)
			}
		})
	}
}
