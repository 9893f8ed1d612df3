package deselection_test

import (
	"fmt"
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

// fleet returns one with so many nodes, at a minute after the start, with a confirmation.
func fleet(nodes, minute int, confirmation string) deselection.Input {
	return deselection.Input{
		Now: start.Add(time.Duration(minute) * time.Minute), Nodes: nodes, MaxPercent: deselection.DefaultMaxPercent,
		UID:          func(r ref) types.UID { return types.UID(r) },
		Confirmation: confirmation,
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
func decide(b *deselection.Budget, losses []deselection.Loss, f deselection.Input) ([]string, map[ref]string) {
	held, messages, _ := decideHold(b, losses, f)
	return held, messages
}

func decideHold(b *deselection.Budget, losses []deselection.Loss, f deselection.Input) ([]string, map[ref]string, deselection.Hold) {
	hold, next := b.Decide(losses, f)
	*b = next
	var held []string
	messages := map[ref]string{}
	for _, l := range losses {
		if hold.Mark(l.Node) != nil {
			held = append(held, l.Node)
		}
		for _, ref := range l.Refs {
			if p, is := hold.Problem(ref); is {
				messages[ref] = p.Message
			}
		}
	}
	slices.Sort(held)
	return held, messages, hold
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
			f := fleet(tt.nodes, 0, "")
			f.MaxPercent = tt.percent
			held, messages := decide(&deselection.Budget{}, lose(numbered(1, tt.lose)...), f)
			if want := map[bool][]string{true: numbered(1, tt.lose)}[tt.held]; !slices.Equal(held, want) || (len(messages) > 0) != tt.held {
				t.Errorf("held %q with %q, want %q", held, messages, want)
			}
		})
	}
}

func TestMessagesNameNodesAndTheCommandThatConfirmsEverything(t *testing.T) {
	t.Parallel()

	var b deselection.Budget
	decide(&b, lose("n000"), fleet(10, 0, ""))
	losses := append(lose("n5", "n4", "n3"), deselection.Loss{Node: "n2", State: "1", Refs: refs{"File/b", "File/a"}})
	_, got, hold := decideHold(&b, losses, fleet(10, 1, ""))
	const changed = "because their labels, annotations or facts changed: "
	rest := "; 1 node lost resources in the last 10 minutes. Their updates are held until this is reverted or confirmed. To confirm all that is held (4 nodes, 2 resources): " +
		"kubectl annotate fleet.fettle.dev fleet fettle.dev/confirm-deselection=" + hold.Token + " --overwrite"
	want := map[ref]string{
		"File/a": "4 of 10 nodes would be deselected " + changed + "n2, n3, n4, n5" + rest,
		"File/b": "1 of 10 nodes would be deselected " + changed + "n2" + rest,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	status := &v1alpha1.HeldDeselection{Token: hold.Token, Nodes: 4, Resources: 2, Message: "4 of 10 nodes would lose 2 resources " + changed + "n2, n3, n4, n5" + rest}
	if diff := cmp.Diff(status, hold.Status()); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&v1alpha1.Held{Resources: refs{"File/a", "File/b"}}, hold.Mark("n2")); diff != "" {
		t.Errorf("mark (-want +got):\n%s", diff)
	}
	if hold := (deselection.Hold{}); hold.Status() != nil || hold.Mark("n2") != nil || hold.Nodes() != 0 {
		t.Errorf("nothing is held, and there are %v and %v", hold.Status(), hold.Mark("n2"))
	}
}

func TestMessagesFitTheSchema(t *testing.T) {
	t.Parallel()

	var losses []deselection.Loss
	var many refs
	for i := range 25 {
		many = append(many, ref(fmt.Sprintf("File/%s-%02d", strings.Repeat("x", 240), i)))
	}
	for i := range 100 {
		losses = append(losses, deselection.Loss{Node: fmt.Sprintf("n%03d-%s", i, strings.Repeat("x", 240)), State: "1", Refs: many})
	}
	hold, _ := deselection.Budget{}.Decide(losses, deselection.Input{Now: start, Nodes: 5000, UID: func(ref) types.UID { return "" }})
	if s := hold.Status(); len(s.Message) > 1024 || !strings.HasSuffix(s.Message, "="+hold.Token+" --overwrite") {
		t.Errorf("%d bytes: %s", len(s.Message), s.Message)
	}
	if m := hold.Mark(losses[0].Node); len(m.Resources) != 10 || m.Omitted != 15 {
		t.Errorf("%d resources, and %d omitted", len(m.Resources), m.Omitted)
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
		if got, _ := decide(&b, lose(step.lose...), fleet(10, step.minute, "")); !slices.Equal(got, step.held) {
			t.Errorf("minute %d: held %q, want %q", step.minute, got, step.held)
		}
	}

	b = deselection.Budget{}
	decide(&b, lose("n1"), fleet(10, 0, ""))
	decide(&b, lose("n2"), fleet(10, 2, ""))
	if next := b.Next(start.Add(5 * time.Minute)); next != 5*time.Minute {
		t.Errorf("next in %s, want 5m", next)
	}
	if next := new(deselection.Budget).Next(start); next != 0 {
		t.Errorf("without losses next in %s, want 0", next)
	}
}

// A manager that takes over does not know which nodes lost resources before the hold.
func TestHoldContinuesAfterARestart(t *testing.T) {
	t.Parallel()

	var b deselection.Budget
	decide(&b, lose("n1"), fleet(3, 0, ""))
	held, _, before := decideHold(&b, lose("n2"), fleet(3, 2, ""))
	if len(held) != 1 {
		t.Fatalf("held %q", held)
	}
	marked := lose("n2")
	marked[0].Since = start.Add(2 * time.Minute)
	b = deselection.Budget{}
	for minute, want := range map[int]int{3: 1, 11: 1, 12: 0} {
		b := deselection.Budget{}
		decide(&b, marked, fleet(3, 3, ""))
		got, _, hold := decideHold(&b, marked, fleet(3, minute, ""))
		if len(got) != want || want > 0 && hold.Token != before.Token {
			t.Errorf("minute %d: held %q with token %s, want %d with %s", minute, got, hold.Token, want, before.Token)
		}
	}
	decide(&b, marked, fleet(3, 3, ""))
	if next := b.Next(start.Add(4 * time.Minute)); next != 8*time.Minute {
		t.Errorf("next in %s, want 8m", next)
	}
	if held, _ := decide(&b, append(lose("n3"), marked...), fleet(100, 4, "")); !slices.Equal(held, []string{"n2", "n3"}) {
		t.Errorf("held %q: what is lost meanwhile counts with what was lost before", held)
	}
	if held, _ := decide(&b, marked, fleet(3, 4, before.Token)); len(held) > 0 {
		t.Errorf("held %q, though it is confirmed", held)
	}
	long := lose("n2")
	long[0].Since = start.Add(-time.Hour)
	if held, _ := decide(&deselection.Budget{}, long, fleet(3, 0, "")); len(held) > 0 {
		t.Errorf("held %q for an hour, alone", held)
	}
}

func TestTokenConfirmsOnlyItsHold(t *testing.T) {
	t.Parallel()

	var b deselection.Budget
	confirm := func(token string, losses ...deselection.Loss) (held []string, next string) {
		t.Helper()
		held, _, hold := decideHold(&b, losses, fleet(10, 0, token))
		return held, hold.Token
	}
	three := append(lose("n1", "n2"), deselection.Loss{Node: "n3", State: "1", Refs: refs{"File/a", "File/b"}})
	_, token := confirm("", three...)
	if len(token) != 8 {
		t.Errorf("token %q, want 8 digits", token)
	}
	if held, again := confirm("00000000", three...); len(held) != 3 || again != token {
		t.Errorf("another token leaves %q held, and asks for %s", held, again)
	}
	if held, other := confirm(token, append(lose("n4"), three...)...); len(held) != 4 || other == token {
		t.Errorf("the token of three nodes leaves %q of four held, and asks for %s", held, other)
	}
	if held, other := confirm(token, lose("n1", "n2", "n3")...); len(held) != 3 || other == token {
		t.Errorf("the token of two resources leaves %q held where only one is lost, and asks for %s", held, other)
	}
	if held, next := confirm(token, three[2], three[0], three[1]); len(held) > 0 || next != "" {
		t.Errorf("the token leaves %q held, and asks for %s", held, next)
	}
	if held, _ := confirm("", three[1:]...); len(held) > 0 {
		t.Errorf("after a write that failed, confirmed nodes are held again: %q", held)
	}
	if held, _ := confirm(token, lose("n4", "n5")...); len(held) > 0 {
		t.Errorf("confirmed losses count: %q are held", held)
	}
	b = deselection.Budget{}
	again := slices.Clone(three)
	for i := range again {
		again[i].State = "2"
	}
	if held, other := confirm(token, again...); len(held) != 3 || other == token {
		t.Errorf("the token of an earlier loss leaves %q held", held)
	}
	recreated := fleet(10, 0, token)
	recreated.UID = func(ref) types.UID { return "another" }
	if held, _ := decide(&b, three, recreated); len(held) != 3 {
		t.Errorf("the token of former resources leaves %q held", held)
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
			f := fleet(nodes, minute, "")
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
			if got, _ := decide(&b, losses, fleet(nodes, minute, "")); slices.Contains(got, "other") {
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
