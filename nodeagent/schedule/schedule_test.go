package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/nodeagent/schedule"
)

func TestNodesSpreadEvenly(t *testing.T) {
	t.Parallel()

	const nodes, window, parts = 5000, 2 * time.Second, 20
	for _, form := range []string{"node-%d", "ip-10-0-%d.eu-central-1.compute.internal", "%d"} {
		counts := make([]int, parts)
		for i := range nodes {
			offset := schedule.Offset(fmt.Sprintf(form, i), window)
			if offset < 0 || offset >= window {
				t.Fatalf("an offset of %s is not in %s", offset, window)
			}
			counts[offset*parts/window]++
		}
		for i, n := range counts {
			if n < nodes/parts*3/4 || n > nodes/parts*5/4 {
				t.Errorf("of the nodes named %s, %d are in part %d, want about %d", form, n, i, nodes/parts)
			}
		}
	}
	if offset := schedule.Offset("a", 0); offset != 0 {
		t.Errorf("without a window a node waits for %s", offset)
	}
}
