package resource_test

import (
	"testing"

	"github.com/fettle-dev/fettle/internal/resource"
)

type roomKey struct{ name string }

func TestWhatARunRemembers(t *testing.T) {
	run := resource.NewMemo()
	one, another := resource.Call{Run: run}.Reader(nil), resource.Call{Run: run}.Writer(nil)
	if _, known := resource.Remembered[int](one, roomKey{"hall"}); known {
		t.Error("something is known that nobody said")
	}
	resource.Remember(one, roomKey{"hall"}, 3)
	resource.Remember(one, roomKey{"hall"}, 4)
	for what, h := range map[string]resource.Reader{"that call": one, "another call": another} {
		if got, known := resource.Remembered[int](h, roomKey{"hall"}); got != 4 || !known {
			t.Errorf("%s: got %d, %v", what, got, known)
		}
		if _, known := resource.Remembered[int](h, roomKey{"attic"}); known {
			t.Errorf("%s: what is under another key is known", what)
		}
	}
	for what, h := range map[string]resource.Reader{
		"another run": resource.Call{Run: resource.NewMemo()}.Reader(nil), "no run": resource.Call{}.Reader(nil),
	} {
		if _, known := resource.Remembered[int](h, roomKey{"hall"}); known {
			t.Errorf("%s knows it", what)
		}
		resource.Remember(resource.Call{}.Reader(nil), roomKey{"hall"}, 5)
	}
}
