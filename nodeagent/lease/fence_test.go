package lease_test

import (
	"testing"
	"time"

	"github.com/fettle-dev/fettle/nodeagent/lease"
)

func TestFenceIsOpenWhileTheManagerTakesTheAgentForAlive(t *testing.T) {
	t.Parallel()

	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	var f lease.Fence
	for i, step := range []struct {
		sent, now int // of a renewal that succeeds
		confirm   bool
		open      int // the first second in which it is closed again; 0 if it is closed
	}{
		{0, 1, false, 0}, // since the start, nothing is known
		{40, 41, true, 100},
		{80, 81, false, 140},
		{141, 142, false, 0}, // too late: another node may act
		{180, 185, true, 240},
		{220, 245, false, 0}, // the answer came too late
		{280, 350, true, 0},  // so late that the Lease has expired again
	} {
		f.Renewed(at(step.sent), at(step.now), time.Minute)
		if step.confirm {
			f.Confirm(at(step.now))
		}
		if open := f.Check(at(step.now)) == nil; open != (step.open > 0) {
			t.Errorf("step %d: it is open: %t", i, open)
		}
		if step.open > 0 && (f.Check(at(step.open-1)) != nil || f.Check(at(step.open)) == nil) {
			t.Errorf("step %d: it is not open until second %d", i, step.open)
		}
	}
}
