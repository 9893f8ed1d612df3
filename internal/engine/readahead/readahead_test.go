package readahead_test

import (
	"testing"

	"github.com/fettle-dev/fettle/internal/engine/readahead"
)

func TestWindowGrowsAsLongAsNothingIsWritten(t *testing.T) {
	t.Parallel()
	for steps, want := range map[string]int{ // a window is read, or something is written
		"": 0, "r": 64, "rr": 128, "rrr": 128, "w": 1,
		"rw": 16, "rwr": 16, "rwrr": 32, "rwww": 1, "rwwww": 1, "rwwwwrr": 2,
	} {
		var w readahead.Window
		for _, step := range steps {
			if step == 'r' {
				w.Grow()
			} else {
				w.Shrink()
			}
		}
		if got := w.Size(); got != want {
			t.Errorf("%q: got %d, want %d", steps, got, want)
		}
		if got := w.IsLargest(); got != (want == 128) {
			t.Errorf("%q: the largest: %t", steps, got)
		}
	}
}
