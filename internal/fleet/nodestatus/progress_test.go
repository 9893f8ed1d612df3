package nodestatus_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
)

type refs = []v1alpha1.ResourceRef

// pending returns what the node has yet to apply: "all", or resources.
func pending(t *nodestatus.ProgressTracker, applied string, current bool) string {
	p := t.Observe("n", applied, current)
	if p.All {
		return "all"
	}
	all := slices.Concat(p.Some...)
	slices.Sort(all)
	return fmt.Sprint(slices.Compact(all))
}

func TestProgress(t *testing.T) {
	t.Parallel()

	var tracker nodestatus.ProgressTracker
	for i, step := range []struct {
		digest  string // of a change; "" for none
		refs    refs
		applied string
		current bool
		want    string
	}{
		{applied: "0", want: "all"}, // as after a start
		{applied: "1", current: true, want: "[]"},
		{digest: "2", refs: refs{"File/a"}, applied: "1", want: "[File/a]"},
		{digest: "3", refs: refs{"File/b"}, applied: "1", want: "[File/a File/b]"},
		{applied: "2", want: "[File/b]"},
		{digest: "2", refs: refs{"File/b"}, applied: "2", want: "[File/b]"}, // changed back: the node may have applied 3
		{applied: "unknown", want: "all"},
		{applied: "2", current: true, want: "[]"},
		{digest: "4", applied: "2", want: "[]"}, // another layout of the same resources
		{applied: "4", current: true, want: "[]"},
	} {
		if step.digest != "" {
			tracker.Changed("n", step.digest, step.refs)
		}
		if got := pending(&tracker, step.applied, step.current); got != step.want {
			t.Errorf("step %d: got %s, want %s", i, got, step.want)
		}
	}
}

func TestNodeThatMissesManyChangesIsPendingForAll(t *testing.T) {
	t.Parallel()

	var tracker nodestatus.ProgressTracker
	tracker.Start("n", "0")
	for i := range 100 {
		tracker.Changed("n", fmt.Sprint(i+1), refs{v1alpha1.ResourceRef(fmt.Sprintf("File/%d", i%3))})
	}
	if got := pending(&tracker, "0", false); got != "[File/0 File/1 File/2]" {
		t.Errorf("got %s", got)
	}
	if got := len(tracker.Observe("n", "0", false).Some); got != 16 {
		t.Errorf("%d changes are distinguished", got)
	}
	tracker.Retain(func(string) bool { return false })
	if got := pending(&tracker, "0", false); got != "all" {
		t.Errorf("after it was forgotten, got %s", got)
	}
}

func TestStartKeepsTheProgressOfAKnownNode(t *testing.T) {
	t.Parallel()

	var tracker nodestatus.ProgressTracker
	if !tracker.Start("n", "0") || tracker.Start("n", "1") {
		t.Error("a node starts twice")
	}
	if got := pending(&tracker, "0", false); got != "[]" {
		t.Errorf("got %s", got)
	}
}
