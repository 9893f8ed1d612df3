package programs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/image"
	"github.com/fettle-dev/fettle/internal/external/image/archive"
	"github.com/fettle-dev/fettle/internal/external/image/signature"
	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/nodeagent/programs"
)

// A registry answers each attempt to pull with the next error that is sent to it.
type registry struct {
	answers  chan error
	attempts chan string
}

func (r *registry) Pull(ctx context.Context, ref string, to archive.Sink) (image.Content, error) {
	r.attempts <- ref
	select {
	case err := <-r.answers:
		if err != nil {
			return image.Content{}, err
		}
		return image.Local{{Name: "main", Executable: true, Content: []byte(ref)}}.Pull(ctx, ref, to)
	case <-ctx.Done():
		return image.Content{}, ctx.Err()
	}
}

func (r *registry) Signatures(context.Context, string) ([]signature.Signature, error) {
	return nil, nil
}

// known are the last usable types.
type known map[string]*definition.Definition

func (k known) Usable(kind string) *definition.Definition { return k[kind] }
func (k known) SetUsable(d *definition.Definition)        { k[d.Spec.Kind] = d }

// A fakeClock says when there is a new timer.
type fakeClock struct {
	*clocktesting.FakeClock
	timers chan struct{}
}

func (c *fakeClock) NewTimer(d time.Duration) clock.Timer {
	timer := c.FakeClock.NewTimer(d)
	c.timers <- struct{}{}
	return timer
}

// awaitTimer waits until a timer runs.
func (c *fakeClock) awaitTimer() {
	for !c.HasWaiters() {
		<-c.timers
	}
}

// A fixture is a node with a registry.
type fixture struct {
	*programs.Programs
	t      *testing.T
	from   *registry
	clock  *fakeClock
	known  known
	pulled chan struct{}
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	t.Cleanup(func() { stop(); group.Wait() })
	w := &fixture{
		t: t, from: &registry{answers: make(chan error), attempts: make(chan string, 100)},
		clock: &fakeClock{clocktesting.NewFakeClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)), make(chan struct{}, 100)},
		known: known{}, pulled: make(chan struct{}, 100),
	}
	w.Programs = programs.New(programs.Config{
		Store: store.New(hosttest.New(t), "/var/lib/fettle/programs"), Registry: w.from, Types: w.known, Clock: w.clock,
		Random: func() float64 { return 0.5 }, Log: slog.New(slog.DiscardHandler),
		Start:    func(f func(context.Context)) { group.Go(func() { f(ctx) }) },
		OnPulled: func(context.Context) { w.pulled <- struct{}{} },
	})
	return w
}

// zone returns a type with an image, the digest of which is a repeated character.
func zone(c string, attributes ...string) *definition.Definition {
	d := &definition.Definition{Name: "zones", Digest: "sha256-" + c, Spec: v1alpha1.ExternalTypeSpec{
		Kind: "Zone", Version: "1." + c, Source: v1alpha1.ExternalSource{Image: "registry.example.com/zone@sha256:" + strings.Repeat(c, 64)},
	}}
	for _, name := range attributes {
		d.Spec.Attributes = append(d.Spec.Attributes, v1alpha1.ExternalAttribute{Name: name, Description: d.Spec.Version})
	}
	return d
}

// have makes a type usable.
func (w *fixture) have(d *definition.Definition) {
	w.t.Helper()
	prepared := make(chan struct{})
	go func() { defer close(prepared); w.Prepare(w.t.Context(), []*definition.Definition{d}) }()
	w.from.answers <- nil
	<-prepared
	<-w.from.attempts
	if got := w.Choose([]*definition.Definition{d}); len(got) != 1 || got[0] != d || w.Outdated() != "" {
		w.t.Fatalf("the types are %v, outdated: %s", versions(got), w.Outdated())
	}
}

func versions(types []*definition.Definition) []string {
	var all []string
	for _, d := range types {
		all = append(all, d.Spec.Version)
	}
	return all
}

// passes waits until a timer runs, and advances the clock.
func (w *fixture) passes(d time.Duration) {
	w.t.Helper()
	w.clock.awaitTimer()
	w.clock.Step(d)
}

func TestAnOutageKeepsTheLastProgramInUse(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	old, next := zone("a", "name"), zone("b", "name")
	w.have(old)
	if got := w.Choose([]*definition.Definition{next}); !slices.Equal(versions(got), []string{"1.a"}) {
		t.Fatalf("while the image is pulled, the types are %v", versions(got))
	}
	if want := "Zone: the image registry.example.com/zone@sha256:" + strings.Repeat("b", 64) + " is not on this host yet; version 1.a stays in use"; w.Outdated() != want {
		t.Errorf("outdated: %s", w.Outdated())
	}
	<-w.from.attempts
	w.from.answers <- errors.New("connection refused")
	w.passes(10 * time.Second)
	<-w.from.attempts
	if got := w.Choose([]*definition.Definition{next}); !slices.Equal(versions(got), []string{"1.a"}) || w.Outdated() != "Zone: connection refused; version 1.a stays in use" {
		t.Errorf("after the failure, the types are %v, outdated: %s", versions(got), w.Outdated())
	}
	w.from.answers <- nil
	<-w.pulled
	if got := w.Choose([]*definition.Definition{next}); !slices.Equal(versions(got), []string{"1.b"}) || w.Outdated() != "" || w.known["Zone"] != next {
		t.Errorf("after the pull, the types are %v, outdated: %s", versions(got), w.Outdated())
	}
}

// What is written for one version of a type may mean something else to another one.
func TestAnotherVocabularyFailsInsteadOfUsingTheOldProgram(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	old, next := zone("a", "name"), zone("b", "name", "ttl")
	w.have(old)
	got := w.Choose([]*definition.Definition{next})
	if !slices.Equal(versions(got), []string{"1.b"}) || w.Outdated() != "" {
		t.Errorf("the types are %v, outdated: %s", versions(got), w.Outdated())
	}
	<-w.from.attempts
	w.from.answers <- errors.New("connection refused")
	w.passes(0)
	if _, err := w.Dir(t.Context(), nil, next); err == nil || err.Error() != "connection refused" {
		t.Errorf("the error is %v", err)
	}
	if got := w.Choose([]*definition.Definition{old}); !slices.Equal(versions(got), []string{"1.a"}) {
		t.Errorf("after a rollback, the types are %v", versions(got))
	}
	if _, err := w.Dir(t.Context(), nil, old); err != nil {
		t.Errorf("the old program was removed: %v", err)
	}
}

func TestPreparationWaitsOnlyForTheFirstAttempt(t *testing.T) {
	t.Parallel()

	for name, answer := range map[string]func(w *fixture){
		"a failure":        func(w *fixture) { w.from.answers <- errors.New("connection refused") },
		"a success":        func(w *fixture) { w.from.answers <- nil },
		"a hanging server": func(w *fixture) { w.passes(programs.Patience) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			ended := make(chan struct{})
			go func() { defer close(ended); w.Prepare(t.Context(), []*definition.Definition{zone("a")}) }()
			<-w.from.attempts
			answer(w)
			<-ended
		})
	}
}

func TestUnwantedImagesAreNoLongerPulled(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	w.Choose([]*definition.Definition{zone("a")})
	<-w.from.attempts
	w.Choose(nil)
	w.Choose([]*definition.Definition{zone("a")}) // another pull, although the first one has no answer
	if ref := <-w.from.attempts; ref != zone("a").Spec.Source.Image {
		t.Errorf("pulled %s", ref)
	}
}

func TestAttemptsAreRepeatedEverMoreSlowly(t *testing.T) {
	t.Parallel()

	w := newFixture(t)
	w.Choose([]*definition.Definition{zone("a")})
	began := w.clock.Now()
	var at []string
	for range 8 {
		<-w.from.attempts
		at = append(at, fmt.Sprint(w.clock.Since(began)))
		w.from.answers <- errors.New("connection refused")
		w.clock.awaitTimer()
		for len(w.from.attempts) == 0 && w.clock.HasWaiters() {
			w.clock.Step(10 * time.Second)
		}
	}
	if want := []string{"0s", "10s", "30s", "1m10s", "2m30s", "5m10s", "10m30s", "20m30s"}; !slices.Equal(at, want) {
		t.Errorf("attempts after %v, want %v", at, want)
	}
}
