package state_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/state"
)

func TestRunsAreDisabledWithAReasonUntilTheyAreEnabled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	must(t, state.Disabled(dir))
	must(t, state.Enable(dir))
	for _, why := range []string{"", "a \"disk\" is\nfailing"} {
		must(t, state.Disable(dir, why, time.Date(2026, 1, 2, 12, 0, 0, 5, time.UTC)))
		var got *state.DisabledError
		if !errors.As(state.Disabled(dir), &got) {
			t.Fatalf("disabled because of %q, and it is not", why)
		}
		if diff := cmp.Diff(&state.DisabledError{Message: why, Since: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)}, got); diff != "" {
			t.Error(diff)
		}
	}
	must(t, state.Enable(dir))
	must(t, state.Disabled(dir))
}

func TestUnreadableReasonStillDisablesRuns(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "disabled.json")
	must(t, os.WriteFile(file, []byte("{"), 0o600))
	want := "runs are disabled on this host (the reason in " + file + " can't be read): enable them with fettle enable"
	if err := state.Disabled(dir); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
