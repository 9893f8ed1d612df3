package rollout_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/fleet/rollout"
)

// turns returns the names of nodes in the order in which they get a target one by one, each having proven it before the next one gets it.
func turns(t *testing.T, all []rollout.Node) (names []string) {
	t.Helper()
	all = slices.Clone(all)
	for {
		d := rollout.Next(rollout.Input{Policy: policy(1, 1, 0), State: rollingOut(), Nodes: all, Now: noon})
		if len(d.Admit) == 0 {
			return names
		}
		names = append(names, d.Admit...)
		i := slices.IndexFunc(all, func(n rollout.Node) bool { return n.Name == d.Admit[0] })
		is(rollout.Proven)(&all[i])
	}
}

// initials returns the first letters of names.
func initials(names []string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteByte(n[0])
	}
	return b.String()
}

func TestNodesThatAnAbandonedTargetBrokeAreFirst(t *testing.T) {
	t.Parallel()

	got := initials(turns(t, join(nodes("n", 3), nodes("b", 2, abandoned, failing), nodes("a", 1, abandoned))))
	if got != "bbannn" {
		t.Errorf("the order is %s", got)
	}
}

func TestEachGroupHasATurnBeforeOneHasItsSecond(t *testing.T) {
	t.Parallel()

	got := initials(turns(t, join(nodes("a", 4, group("a")), nodes("b", 2, group("b")), nodes("c", 3, group("c")))))
	for _, round := range []struct{ part, want string }{{got[:3], "abc"}, {got[3:6], "abc"}, {got[6:8], "ac"}, {got[8:], "a"}} {
		if letters := strings.Split(round.part, ""); strings.Join(slices.Sorted(slices.Values(letters)), "") != round.want {
			t.Errorf("a round of %s is %s, want %s in any order", got, round.part, round.want)
		}
	}
}

func TestZonesFollowOneAnother(t *testing.T) {
	t.Parallel()

	got := initials(turns(t, join(nodes("a", 3, zone("a")), nodes("b", 3, zone("b")))))
	if got != "aaabbb" && got != "bbbaaa" {
		t.Errorf("the order is %s", got)
	}
}

func TestNoNodeIsAlwaysTheFirst(t *testing.T) {
	t.Parallel()

	first := map[string]bool{}
	for revision := range strings.SplitSeq("abcdefghijklmnopqrst", "") {
		state := rollout.State{Stable: "old", Target: revision, Started: noon}
		first[rollout.Next(rollout.Input{Policy: policy(1, 1, 0), State: state, Nodes: nodes("n", 10), Now: noon}).Admit[0]] = true
	}
	if len(first) < 5 {
		t.Errorf("20 revisions begin on %d of 10 nodes", len(first))
	}
}
