package deselection_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/deselection"
)

type (
	ref  = v1alpha1.ResourceRef
	refs = []v1alpha1.ResourceRef
)

var start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// fleet returns one with so many nodes, at a minute after the start, in which resources are
// confirmed by tokens.
func fleet(nodes, minute int, tokens map[ref]string) deselection.Fleet {
	return deselection.Fleet{
		Now: start.Add(time.Duration(minute) * time.Minute), Nodes: nodes, MaxPercent: deselection.DefaultMaxPercent,
		UID:          func(r ref) types.UID { return types.UID(r) },
		Confirmation: func(r ref) string { return tokens[r] },
	}
}

// lose returns a loss of File/a by each node.
func lose(nodes ...string) (losses []deselection.Loss) {
	for _, n := range nodes {
		losses = append(losses, deselection.Loss{Node: n, State: "1", Refs: refs{"File/a"}})
	}
	return losses
}

func numbered(from, to int) (nodes []string) {
	for i := from; i <= to; i++ {
		nodes = append(nodes, fmt.Sprintf("n%03d", i))
	}
	return nodes
}

// decide returns the nodes that are held, sorted, and messages by resource.
func decide(b *deselection.Budget, losses []deselection.Loss, f deselection.Fleet) ([]string, map[ref]string) {
	held, problems := b.Decide(losses, f)
	messages := map[ref]string{}
	for ref, p := range problems {
		messages[ref] = p.Message
	}
	return slices.Sorted(maps.Keys(held)), messages
}

// tokenIn returns the token that a message asks for.
func tokenIn(t *testing.T, message string) string {
	t.Helper()
	_, after, found := strings.Cut(message, "fettle.dev/confirm-deselection=")
	if !found {
		t.Fatalf("no token in %q", message)
	}
	return strings.Fields(after)[0]
}

func TestBudgetLimitsTheShareOfNodes(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		nodes, percent, lose int
		held                 bool
	}{
		"one of one":                     {1, 20, 1, false},
		"one of three":                   {3, 20, 1, false},
		"two of three":                   {3, 20, 2, true},
		"two of ten":                     {10, 20, 2, false},
		"three of ten":                   {10, 20, 3, true},
		"a fifth of a hundred":           {100, 20, 20, false},
		"more than a fifth of a hundred": {100, 20, 21, true},
		"one, with a share of 0":         {100, 0, 1, false},
		"two, with a share of 0":         {100, 0, 2, true},
		"all, with a share of 100":       {100, 100, 100, false},
		"99 of 100, with a share of 98":  {100, 98, 99, true},
		"none":                           {100, 20, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fleet(tt.nodes, 0, nil)
			f.MaxPercent = tt.percent
			held, messages := decide(&deselection.Budget{}, lose(numbered(1, tt.lose)...), f)
			if want := map[bool][]string{true: numbered(1, tt.lose)}[tt.held]; !slices.Equal(held, want) || (len(messages) > 0) != tt.held {
				t.Errorf("held %q with %q, want %q", held, messages, want)
			}
		})
	}
}

func TestMessageNamesNodesAndTheCommandThatConfirms(t *testing.T) {
	t.Parallel()

	var b deselection.Budget
	decide(&b, lose("n000"), fleet(10, 0, nil))
	losses := append(lose("n5", "n4", "n3"), deselection.Loss{Node: "n2", State: "1", Refs: refs{"File/a", "File/b"}})
	_, got := decide(&b, losses, fleet(10, 1, nil))
	want := map[ref]string{
		"File/a": "4 of 10 nodes would be deselected because their labels, annotations or facts changed: n2, n3, n4, n5; 1 node lost resources in the last 10 minutes. " +
			"Their updates are held until this is reverted or confirmed. To confirm: kubectl annotate file.fettle.dev a fettle.dev/confirm-deselection=" + tokenIn(t, got["File/a"]) + " --overwrite",
		"File/b": "1 of 10 nodes would be deselected because their labels, annotations or facts changed: n2; 1 node lost resources in the last 10 minutes. " +
			"Their updates are held until this is reverted or confirmed. To confirm: kubectl annotate file.fettle.dev b fettle.dev/confirm-deselection=" + tokenIn(t, got["File/b"]) + " --overwrite",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLossesCountForTenMinutes(t *testing.T) {
	t.Parallel()

	var b deselection.Budget
	for _, step := range []struct {
		minute     int
		lose, held []string
	}{
		{0, []string{"n1"}, nil},
		{1, []string{"n1"}, nil}, // the write failed
		{2, []string{"n2"}, nil},
		{3, []string{"n3"}, []string{"n3"}},
		{4, []string{"n3", "n4"}, []string{"n3", "n4"}},
		{11, []string{"n3", "n4"}, []string{"n3", "n4"}}, // n1 has expired, n2 has not
		{12, []string{"n3", "n4"}, nil},
		{13, []string{"n1", "n2"}, nil}, // again
		{14, []string{"n5"}, []string{"n5"}},
	} {
		if got, _ := decide(&b, lose(step.lose...), fleet(10, step.minute, nil)); !slices.Equal(got, step.held) {
			t.Errorf("minute %d: held %q, want %q", step.minute, got, step.held)
		}
	}

	b = deselection.Budget{}
	decide(&b, lose("n1"), fleet(10, 0, nil))
	decide(&b, lose("n2"), fleet(10, 2, nil))
	if next := b.Next(start.Add(5 * time.Minute)); next != 5*time.Minute {
		t.Errorf("next in %s, want 5m", next)
	}
	if next := new(deselection.Budget).Next(start); next != 0 {
		t.Errorf("without losses next in %s, want 0", next)
	}
}

func TestTokenConfirmsOneLossOnly(t *testing.T) {
	t.Parallel()

	var b deselection.Budget
	confirm := func(token string, losses ...deselection.Loss) (held []string, next string) {
		t.Helper()
		held, messages := decide(&b, losses, fleet(10, 0, map[ref]string{"File/a": token}))
		if message := messages["File/a"]; message != "" {
			next = tokenIn(t, message)
		}
		return held, next
	}
	three := lose("n1", "n2", "n3")
	_, token := confirm("", three...)
	if len(token) != 8 {
		t.Errorf("token %q, want 8 digits", token)
	}
	if held, again := confirm("00000000", three...); len(held) != 3 || again != token {
		t.Errorf("another token leaves %q held, and asks for %s", held, again)
	}
	if held, other := confirm(token, lose("n1", "n2", "n3", "n4")...); len(held) != 4 || other == token {
		t.Errorf("the token of three nodes leaves %q of four held, and asks for %s", held, other)
	}
	if held, _ := confirm(token, three...); len(held) > 0 {
		t.Errorf("the token leaves %q held", held)
	}
	if held, _ := confirm(token, three[1:]...); len(held) > 0 {
		t.Errorf("after a write that failed, confirmed nodes are held again: %q", held)
	}
	if held, _ := confirm(token, lose("n4", "n5")...); len(held) > 0 {
		t.Errorf("confirmed losses count: %q are held", held)
	}
	b = deselection.Budget{}
	again := lose("n1", "n2", "n3")
	for i := range again {
		again[i].State = "2"
	}
	if held, other := confirm(token, again...); len(held) != 3 || other == token {
		t.Errorf("the token of an earlier loss leaves %q held", held)
	}
}

func TestNodeIsHeldUntilEveryLossIsConfirmed(t *testing.T) {
	t.Parallel()

	var b deselection.Budget
	losses := append(lose("n1", "n2"),
		deselection.Loss{Node: "n3", State: "1", Refs: refs{"File/a", "File/b"}},
		deselection.Loss{Node: "n4", State: "1", Refs: refs{"File/b"}},
		deselection.Loss{Node: "n5", State: "1", Refs: refs{"File/b"}})
	_, messages := decide(&b, losses, fleet(10, 0, nil))
	tokens := map[ref]string{"File/a": tokenIn(t, messages["File/a"])}
	held, messages := decide(&b, losses, fleet(10, 0, tokens))
	if !slices.Equal(held, []string{"n3", "n4", "n5"}) || messages["File/a"] != "" {
		t.Errorf("held %q, and File/a says %q", held, messages["File/a"])
	}
	tokens["File/b"] = tokenIn(t, messages["File/b"])
	if held, _ := decide(&b, losses, fleet(10, 0, tokens)); len(held) > 0 {
		t.Errorf("held %q, though everything is confirmed", held)
	}
}

// No sequence of changes takes resources from more nodes than the budget allows, and the order of
// losses does not matter.
func TestBudgetHoldsOverTime(t *testing.T) {
	t.Parallel()

	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		nodes, percent := 1+random.IntN(30), random.IntN(101)
		var b, shuffled deselection.Budget
		gone, first, states := map[string]time.Time{}, map[string]time.Time{}, map[string]int{}
		for minute := range 60 {
			var losses []deselection.Loss
			for _, n := range numbered(1, nodes) {
				if _, lost := gone[n]; !lost && random.IntN(4) == 0 {
					losses = append(losses, deselection.Loss{Node: n, State: fmt.Sprint(states[n]), Refs: refs{"File/a"}})
				}
				if random.IntN(20) == 0 {
					delete(gone, n) // its label is back
					states[n]++
				}
			}
			f := fleet(nodes, minute, nil)
			f.MaxPercent = percent
			held, messages := decide(&b, losses, f)
			random.Shuffle(len(losses), func(i, j int) { losses[i], losses[j] = losses[j], losses[i] })
			again, messagesAgain := decide(&shuffled, losses, f)
			if !slices.Equal(held, again) || !cmp.Equal(messages, messagesAgain) {
				t.Fatalf("seed %d: the order matters: %q %q, %q %q", seed, held, messages, again, messagesAgain)
			}
			for _, l := range losses {
				if !slices.Contains(held, l.Node) {
					gone[l.Node] = f.Now
					if _, known := first[l.Node]; !known {
						first[l.Node] = f.Now
					}
				}
			}
			recent := 0
			for _, at := range first {
				if f.Now.Sub(at) < deselection.Period {
					recent++
				}
			}
			if recent > 1 && recent*100 > nodes*percent {
				t.Fatalf("seed %d: %d of %d nodes first lost it within ten minutes, the share is %d%%", seed, recent, nodes, percent)
			}
		}
	}
}

// A lying node may report other facts every minute.
func TestFlappingNodeDelaysOthersForOnePeriodAnHour(t *testing.T) {
	t.Parallel()

	for _, nodes := range []int{2, 5, 10} {
		var b deselection.Budget
		var held []int
		for minute := range 60 {
			losses := []deselection.Loss{{Node: "flaps", State: fmt.Sprint(minute), Refs: refs{"File/a"}}}
			if minute > 0 {
				losses = append(losses, lose("other", "third")[:max(1, nodes/5)]...)
			}
			if got, _ := decide(&b, losses, fleet(nodes, minute, nil)); slices.Contains(got, "other") {
				held = append(held, minute)
			} else if minute > 0 {
				break
			}
		}
		if len(held) != 9 {
			t.Errorf("of %d nodes the other one is held in the minutes %v", nodes, held)
		}
	}
}
