package controllers_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers"
)

type refs = []v1alpha1.ResourceRef

// fleetOf is a fleet of so many nodes, at a minute of a day.
func fleetOf(nodes, minute int) controllers.View {
	return controllers.View{
		Now: time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC), Nodes: nodes, Percent: controllers.DefaultMaxDeselection,
		Resources: refs{"File/a", "File/b"},
	}
}

// lose is a loss of File/a by each of these.
func lose(nodes ...string) []controllers.Loss {
	var all []controllers.Loss
	for _, n := range nodes {
		all = append(all, controllers.Loss{Node: n, At: "1", Refs: refs{"File/a"}})
	}
	return all
}

func numbered(from, to int) []string {
	var all []string
	for i := from; i <= to; i++ {
		all = append(all, fmt.Sprintf("n%03d", i))
	}
	return all
}

// wordIn is the word that a message asks for.
func wordIn(t *testing.T, message string) string {
	t.Helper()
	_, after, found := strings.Cut(message, "fettle.dev/confirm-deselection=")
	if !found {
		t.Fatalf("there is no word in %q", message)
	}
	return strings.Fields(after)[0]
}

func TestFewNodesMayLoseSomethingAtOnce(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		nodes, percent, lose int
		held                 bool
	}{
		"one of one":                           {1, 20, 1, false},
		"one of three":                         {3, 20, 1, false},
		"two of three":                         {3, 20, 2, true},
		"two of ten":                           {10, 20, 2, false},
		"three of ten":                         {10, 20, 3, true},
		"a fifth of a hundred":                 {100, 20, 20, false},
		"more than a fifth of a hundred":       {100, 20, 21, true},
		"one, where none may":                  {100, 0, 1, false},
		"two, where none may":                  {100, 0, 2, true},
		"all, where all may":                   {100, 100, 100, false},
		"nearly all, where not nearly all may": {100, 98, 99, true},
		"none":                                 {100, 20, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h controllers.Hold
			v := fleetOf(tt.nodes, 0)
			v.Percent = tt.percent
			held, why := h.Judge(lose(numbered(1, tt.lose)...), v)
			if want := map[bool][]string{true: numbered(1, tt.lose)}[tt.held]; !slices.Equal(held, want) || (len(why) > 0) != tt.held {
				t.Errorf("held are %q and %q, want %q", held, why, want)
			}
		})
	}
}

func TestAHoldSaysWhatItHoldsAndHowToLetGo(t *testing.T) {
	t.Parallel()

	var h controllers.Hold
	h.Judge(lose("n000"), fleetOf(10, 0))
	_, why := h.Judge([]controllers.Loss{
		{Node: "n5", At: "1", Refs: refs{"File/a"}},
		{Node: "n4", At: "1", Refs: refs{"File/a"}},
		{Node: "n3", At: "1", Refs: refs{"File/a"}},
		{Node: "n2", At: "1", Refs: refs{"File/a", "File/b"}},
	}, fleetOf(10, 1))
	want := map[v1alpha1.ResourceRef]string{
		"File/a": "4 of 10 nodes would lose it because their labels, annotations or facts changed, after 1 node lost something in the last 10 minutes: n2, n3, n4 and 1 more. " +
			"They keep all that they have until that is undone or confirmed. To confirm it: kubectl annotate file.fettle.dev a fettle.dev/confirm-deselection=" + wordIn(t, why["File/a"]) + " --overwrite",
		"File/b": "1 of 10 nodes would lose it because their labels, annotations or facts changed, after 1 node lost something in the last 10 minutes: n2. " +
			"They keep all that they have until that is undone or confirmed. To confirm it: kubectl annotate file.fettle.dev b fettle.dev/confirm-deselection=" + wordIn(t, why["File/b"]) + " --overwrite",
	}
	if diff := cmp.Diff(want, why); diff != "" {
		t.Errorf("says (-want +got):\n%s", diff)
	}
}

func TestWhatNodesLoseOneByOneCountsForTenMinutes(t *testing.T) {
	t.Parallel()

	var h controllers.Hold
	held := func(minute int, losses ...string) []string {
		t.Helper()
		held, _ := h.Judge(lose(losses...), fleetOf(10, minute))
		return held
	}
	for _, step := range []struct {
		minute int
		lose   []string
		held   []string
	}{
		{0, []string{"n1"}, nil},
		{1, []string{"n1"}, nil}, // could not be written
		{2, []string{"n2"}, nil},
		{3, []string{"n3"}, []string{"n3"}},
		{4, []string{"n3", "n4"}, []string{"n3", "n4"}},
		{11, []string{"n3", "n4"}, []string{"n3", "n4"}}, // n1 was long ago, n2 not
		{12, []string{"n3", "n4"}, nil},
	} {
		if got := held(step.minute, step.lose...); !cmp.Equal(got, step.held, cmpopts.EquateEmpty()) {
			t.Errorf("in minute %d it holds %q, want %q", step.minute, got, step.held)
		}
	}

	h = controllers.Hold{}
	held(0, "n1")
	held(2, "n2")
	held(5, "n3")
	if next := h.Next(fleetOf(10, 5).Now); next != 5*time.Minute {
		t.Errorf("it looks again in %s, want 5m", next)
	}
	if next := new(controllers.Hold).Next(time.Time{}); next != 0 {
		t.Errorf("it looks again in %s where it holds nothing", next)
	}
}

func TestANodeThatHasAllAgainCountsNoMore(t *testing.T) {
	t.Parallel()

	var h controllers.Hold
	h.Judge(lose("n1", "n2"), fleetOf(10, 0))
	v := fleetOf(10, 1)
	v.Has = func(node string, _ v1alpha1.ResourceRef) bool { return node == "n1" }
	if held, _ := h.Judge(lose("n3"), v); len(held) > 0 {
		t.Errorf("holds %q, though of those before one has it again", held)
	}
	v.Resources = refs{"File/b"}
	if held, _ := h.Judge([]controllers.Loss{{Node: "n4", Refs: refs{"File/b"}}, {Node: "n5", Refs: refs{"File/b"}}}, v); len(held) > 0 {
		t.Errorf("holds %q, though what others lost is no more", held)
	}
}

func TestAWordConfirmsWhatItWasGivenForAndNothingElse(t *testing.T) {
	t.Parallel()

	var h controllers.Hold
	judge := func(word string, losses ...controllers.Loss) (held []string, next string) {
		t.Helper()
		v := fleetOf(10, 0)
		v.Confirmed = map[v1alpha1.ResourceRef]string{"File/a": word}
		held, why := h.Judge(losses, v)
		if message := why["File/a"]; message != "" {
			next = wordIn(t, message)
		}
		return held, next
	}
	judge("", lose("n0")...) // of what is confirmed later, and counts no more then
	three := lose("n1", "n2", "n3")
	_, word := judge("", three...)
	if len(word) != 8 {
		t.Errorf("the word is %q, want 8 digits", word)
	}
	if held, again := judge("00000000", three...); len(held) != 3 || again != word {
		t.Errorf("another word leaves %q held, and %s to be said", held, again)
	}
	if held, other := judge(word, lose("n1", "n2", "n3", "n4")...); len(held) != 4 || other == word {
		t.Errorf("the word for three of four leaves %q held, and %s to be said", held, other)
	}
	if held, _ := judge(word, three...); len(held) > 0 {
		t.Errorf("the word leaves %q held", held)
	}
	if held, _ := judge(word, three[1:]...); len(held) > 0 {
		t.Errorf("what was confirmed and could not be written is held again: %q", held)
	}
	if held, _ := judge(word, lose("n4", "n5")...); len(held) > 0 {
		t.Errorf("what was confirmed counts: %q are held", held)
	}
	h = controllers.Hold{}
	later := lose("n1", "n2", "n3")
	for i := range later {
		later[i].At = "2"
	}
	if held, other := judge(word, later...); len(held) != 3 || other == word {
		t.Errorf("the word lets go of %q once more, after they had it again", held)
	}
}

func TestANodeIsHeldUntilAllItLosesIsConfirmed(t *testing.T) {
	t.Parallel()

	var h controllers.Hold
	both := lose("n1", "n2", "n3")
	both[2].Refs = refs{"File/a", "File/b"}
	both = append(both, controllers.Loss{Node: "n4", At: "1", Refs: refs{"File/b"}}, controllers.Loss{Node: "n5", At: "1", Refs: refs{"File/b"}})
	v := fleetOf(10, 0)
	_, why := h.Judge(both, v)
	v.Confirmed = map[v1alpha1.ResourceRef]string{"File/a": wordIn(t, why["File/a"])}
	held, why := h.Judge(both, v)
	if !slices.Equal(held, []string{"n3", "n4", "n5"}) || why["File/a"] != "" {
		t.Errorf("held are %q, and of a it says %q", held, why["File/a"])
	}
	v.Confirmed["File/b"] = wordIn(t, why["File/b"])
	if held, _ := h.Judge(both, v); len(held) > 0 {
		t.Errorf("held are %q, though all is confirmed", held)
	}
}

// In a small fleet one node uses up what may change. One that never rests must not, or
// nothing would ever change for the others.
func TestANodeThatFlapsHoldsUpNoOther(t *testing.T) {
	t.Parallel()

	flap := func(node string, minute int) controllers.Loss {
		return controllers.Loss{Node: node, At: fmt.Sprint(minute), Refs: refs{[]v1alpha1.ResourceRef{"File/a", "File/b"}[minute%2]}}
	}
	for name, tt := range map[string]struct {
		nodes   int
		flapped []string         // each minute, beginning with 0
		others  map[int][]string // who loses File/a, by minute
		held    map[int][]string // at that minute
	}{
		"the first time it may be many":               {3, []string{"n1"}, map[int][]string{0: {"n2"}}, map[int][]string{0: {"n1", "n2"}}},
		"one that flaps":                              {3, []string{"n1"}, map[int][]string{5: {"n2"}}, nil},
		"two others are as many as ever":              {3, []string{"n1"}, map[int][]string{5: {"n2"}, 6: {"n3"}}, map[int][]string{6: {"n1", "n3"}}},
		"of two that flap one counts":                 {3, []string{"n1", "n2"}, map[int][]string{5: {"n3"}}, map[int][]string{0: {"n1", "n2"}, 1: {"n1", "n2"}, 2: {"n1", "n2"}, 3: {"n1", "n2"}, 4: {"n1", "n2"}, 5: {"n1", "n2", "n3"}, 6: {"n1", "n2"}}},
		"a larger fleet has its fifth beside it":      {10, []string{"n1"}, map[int][]string{5: {"n2", "n3"}}, nil},
		"and no more than its fifth":                  {10, []string{"n1"}, map[int][]string{5: {"n2", "n3", "n4"}}, map[int][]string{5: {"n1", "n2", "n3", "n4"}}},
		"that it is tried again is not that it flaps": {3, nil, map[int][]string{0: {"n1"}, 1: {"n1"}, 2: {"n1", "n2"}}, map[int][]string{2: {"n1", "n2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h controllers.Hold
			for minute := range 7 {
				losses := lose(tt.others[minute]...)
				for _, n := range tt.flapped {
					losses = append(losses, flap(n, minute))
				}
				v := fleetOf(tt.nodes, minute)
				v.Has = func(node string, ref v1alpha1.ResourceRef) bool { // what it lost the minute before
					return slices.Contains(tt.flapped, node) && ref != flap(node, minute).Refs[0]
				}
				if held, _ := h.Judge(losses, v); !cmp.Equal(held, tt.held[minute], cmpopts.EquateEmpty()) {
					t.Errorf("in minute %d it holds %q, want %q", minute, held, tt.held[minute])
				}
			}
		})
	}
}

// However labels come and go, in ten minutes no more nodes lose something than may, but for
// one that does so again and again, and the order in which nodes are looked at decides nothing.
func TestNoMoreNodesLoseSomethingThanMay(t *testing.T) {
	t.Parallel()

	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		nodes, percent := 1+random.IntN(30), random.IntN(101)
		var h, shuffled controllers.Hold
		gone := map[string]time.Time{} // by node that lost it
		lost, states := map[string][]time.Time{}, map[string]int{}
		for minute := range 60 {
			losses := lose()
			for _, n := range numbered(1, nodes) {
				if _, lost := gone[n]; !lost && random.IntN(4) == 0 {
					losses = append(losses, controllers.Loss{Node: n, At: fmt.Sprint(states[n]), Refs: refs{"File/a"}})
				}
				if random.IntN(20) == 0 {
					delete(gone, n) // its label is back
					states[n]++
				}
			}
			v := fleetOf(nodes, minute)
			v.Percent = percent
			v.Has = func(node string, _ v1alpha1.ResourceRef) bool { _, lost := gone[node]; return !lost }
			held, why := h.Judge(losses, v)
			random.Shuffle(len(losses), func(i, j int) { losses[i], losses[j] = losses[j], losses[i] })
			again, whyAgain := shuffled.Judge(losses, v)
			if !slices.Equal(held, again) || !cmp.Equal(why, whyAgain) {
				t.Fatalf("seed %d: the order decides: %q %q, %q %q", seed, held, why, again, whyAgain)
			}
			for _, l := range losses {
				if !slices.Contains(held, l.Node) {
					gone[l.Node] = v.Now
					lost[l.Node] = append(lost[l.Node], v.Now)
				}
			}
			recent := 0
			for _, times := range lost {
				if n := len(times); n > 1 && v.Now.Sub(times[n-2]) < time.Hour {
					recent = -1
				}
			}
			for _, at := range gone {
				if v.Now.Sub(at) < 10*time.Minute {
					recent++
				}
			}
			if recent > 1 && recent*100 > nodes*percent {
				t.Fatalf("seed %d: %d of %d nodes lost it in ten minutes, and %d%% may", seed, recent, nodes, percent)
			}
		}
	}
}
