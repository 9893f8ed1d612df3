package limits_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fettle-dev/fettle/internal/fleet/limits"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestBatchWindowClosesAfterAPauseOrTwoSeconds(t *testing.T) {
	t.Parallel()

	var b limits.BatchWindow
	if left := b.Left(start); left != 0 {
		t.Errorf("an empty batch closes in %s", left)
	}
	now := start
	for now.Before(start.Add(1950 * time.Millisecond)) {
		b.Extend(now)
		if left := b.Left(now); left <= 0 || left > limits.Debounce {
			t.Fatalf("after %s it closes in %s", now.Sub(start), left)
		}
		now = now.Add(50 * time.Millisecond)
	}
	b.Extend(now)
	if left := b.Left(start.Add(2 * time.Second)); left != 0 {
		t.Errorf("after two seconds of changes it closes in %s", left)
	}
	now = now.Add(time.Second)
	b.Extend(now)
	if left := b.Left(now.Add(60 * time.Millisecond)); left != 40*time.Millisecond {
		t.Errorf("a new batch closes in %s, want 40ms", left)
	}
}

func TestNodeQuotas(t *testing.T) {
	t.Parallel()

	clock := clocktesting.NewFakePassiveClock(start)
	var q limits.NodeQuotas
	accepted := 0
	for range 600 { // a minute
		clock.SetTime(clock.Now().Add(100 * time.Millisecond))
		if q.Of("loud", clock).Reconciles.TryAccept() {
			accepted++
		}
	}
	if accepted < 30 || accepted > 33 { // a burst of 20, and then one in 5 s
		t.Errorf("accepted %d of 600", accepted)
	}
	if !q.Of("quiet", clock).Reconciles.TryAccept() {
		t.Error("another node is limited")
	}
	q.Forget("loud")
	if !q.Of("loud", clock).Reconciles.TryAccept() {
		t.Error("a node that is new has the quota of a former one")
	}
}

func TestRefusalsBackOff(t *testing.T) {
	t.Parallel()

	r := limits.Refusals{}
	var waits []time.Duration
	now, why := start, errors.New("too large")
	for i := range 7 {
		if first := r.Refused("n", "content", why, now); first != (i == 0) {
			t.Errorf("attempt %d: first is %t", i, first)
		}
		next := r.Next(now)
		waits = append(waits, next/time.Second)
		if !r.BackingOff("n", "content", now.Add(next-1)) || r.BackingOff("n", "content", now.Add(next)) {
			t.Errorf("attempt %d does not back off for %s", i, next)
		}
		now = now.Add(next)
	}
	if want := []time.Duration{2, 4, 8, 16, 30, 30, 30}; !slices.Equal(waits, want) {
		t.Errorf("waits are %v seconds, want %v", waits, want)
	}
	if r.BackingOff("n", "other", now) || r.BackingOff("m", "content", now) {
		t.Error("other content, or another node, backs off")
	}
	if r.Error("n") != "too large" || r.Retain(func(string) bool { return true }) != 1 {
		t.Error("the refusal is forgotten")
	}
	if r.Retain(func(string) bool { return false }) != 0 || r.Error("n") != "" || r.Next(now) != 0 {
		t.Error("a node that is gone is remembered")
	}
	r.Refused("n", "content", why, now)
	if r.Accepted("n"); r.BackingOff("n", "content", now) {
		t.Error("an accepted write backs off")
	}
}
