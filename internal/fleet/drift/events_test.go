package drift_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/drift"
)

func TestDriftOfAFleetIsOneEventPerPeriod(t *testing.T) {
	t.Parallel()

	var s drift.Summary
	now := time.Unix(1000, 0)
	var nodes []string
	for i := range 5000 {
		nodes = append(nodes, fmt.Sprintf("n%04d", i))
	}
	all := map[v1alpha1.ResourceRef][]string{"File/a": append([]string{"n"}, nodes...), "File/b": {"n"}}
	expect := func(want map[v1alpha1.ResourceRef]drift.Occurrence, wantNext time.Duration) {
		t.Helper()
		got, next := s.Due(now, all)
		if diff := cmp.Diff(want, got); diff != "" || next != wantNext {
			t.Errorf("next is %s, want %s; notes (-want +got):\n%s", next, wantNext, diff)
		}
	}
	none := map[v1alpha1.ResourceRef]drift.Occurrence{}
	expect(none, 0)
	s.Add("File/a", "n")
	expect(map[v1alpha1.ResourceRef]drift.Occurrence{"File/a": {Where: "1 time on 1 node: n", Node: "n"}}, 0)
	expect(none, 0)
	for _, node := range nodes {
		s.Add("File/a", node)
		s.Add("File/a", node)
	}
	s.Add("File/b", "n")
	now = now.Add(time.Minute)
	expect(map[v1alpha1.ResourceRef]drift.Occurrence{"File/b": {Where: "1 time on 1 node: n", Node: "n"}}, 9*time.Minute)
	now = now.Add(9 * time.Minute)
	expect(map[v1alpha1.ResourceRef]drift.Occurrence{"File/a": {Where: "10000 times on 5000 nodes: n0000, n0001, n0002 and 4997 more", Node: "n0000"}}, 0)
}

func TestDriftOfResourcesThatDoNotSelectTheNodeIsIgnored(t *testing.T) {
	t.Parallel()

	var s drift.Summary
	s.Add("File/a", "liar")
	s.Add("File/a", "n1")
	s.Add("File/none", "liar")
	got, next := s.Due(time.Unix(1000, 0), map[v1alpha1.ResourceRef][]string{"File/a": {"n1"}})
	want := map[v1alpha1.ResourceRef]drift.Occurrence{"File/a": {Where: "1 time on 1 node: n1", Node: "n1"}}
	if diff := cmp.Diff(want, got); diff != "" || next != 0 {
		t.Errorf("next is %s; notes (-want +got):\n%s", next, diff)
	}
}
