package policies_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout/policies"
)

const everyNode, noSuchOperator = "nodeSelector: {matchLabels: null}", "nodeSelector: {matchExpressions: [{key: a, operator: Like}]}"

func TestPolicyOfANode(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policies map[string]string // spec by name
		policy   string
		conflict []string
	}{
		"without policies a node has none":                               {},
		"a node that no policy selects has none":                         {policies: map[string]string{"db": ""}},
		"a policy takes the nodes that it selects":                       {policies: map[string]string{"web": "", "db": ""}, policy: "web"},
		"the default policy takes the nodes that no other selects":       {policies: map[string]string{"default": everyNode, "db": ""}, policy: "default"},
		"so it does with any nodeSelector":                               {policies: map[string]string{"default": "", "db": ""}, policy: "default"},
		"the default policy gives way to others":                         {policies: map[string]string{"default": everyNode, "web": ""}, policy: "web"},
		"a node that two policies select is moved by none":               {policies: map[string]string{"all": everyNode, "web": "", "default": everyNode}, conflict: []string{"all", "web"}},
		"an invalid policy keeps the nodes that it selects":              {policies: map[string]string{"default": everyNode, "web": "after: [gone]"}, policy: "web"},
		"an invalid nodeSelector could select what no other policy does": {policies: map[string]string{"default": everyNode, "odd": noSuchOperator}, conflict: []string{"default", "odd"}},
		"an invalid nodeSelector takes no node from another policy":      {policies: map[string]string{"web": "", "odd": noSuchOperator}, policy: "web"},
		"the default policy takes nodes even if its selector is invalid": {policies: map[string]string{"default": noSuchOperator}, policy: "default"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []*v1alpha1.RolloutPolicy
			for name, spec := range tt.policies {
				all = append(all, newPolicy(t, name, spec))
			}
			is := policies.New(all).Select(map[string]string{"tier": "web"})
			if is.Policy != tt.policy || !slices.Equal(is.Conflict, tt.conflict) {
				t.Errorf("got %+v", is)
			}
		})
	}
}

func TestASetIsEmptyWithoutPolicies(t *testing.T) {
	t.Parallel()
	if !(&policies.Set{}).Empty() || !setOf().Empty() || setOf(newPolicy(t, "web", "")).Empty() {
		t.Error("the zero set and that of no policy are empty, and no other")
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policies map[string]string
		want     []string
	}{
		"by name if no policy waits": {map[string]string{"b": "", "a": "", "default": ""}, []string{"a", "b", "default"}},
		"each after those that it waits for": {
			map[string]string{"a": "after: [z]", "b": "after: [a, z]", "z": ""}, []string{"z", "a", "b"},
		},
		"an invalid one after the valid ones": {map[string]string{"a": "after: [gone]", "b": ""}, []string{"b", "a"}},
		"one that waits for an invalid one after it": {
			map[string]string{"a": "after: [gone]", "b": "after: [a]", "c": ""}, []string{"c", "a", "b"},
		},
		"one behind a cycle after it": {
			map[string]string{"a": "after: [b]", "b": "after: [a]", "c": "after: [b]", "d": ""}, []string{"d", "a", "b", "c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []*v1alpha1.RolloutPolicy
			for name, spec := range tt.policies {
				all = append(all, newPolicy(t, name, spec))
			}
			if diff := cmp.Diff(tt.want, policies.New(all).Order()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whatever policies exist: a node has at most one, policies and a conflict exclude each other, the order of a list has no
// influence, and each policy comes after those that it waits for.
func TestLawsOfSets(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		all := randomPolicies(t, r)
		set := policies.New(all)
		order := set.Order()
		if len(order) != len(all) {
			t.Fatalf("order %q has other policies than %d", order, len(all))
		}
		for _, p := range all {
			checkOrder(t, set, order, p)
		}
		tier := map[string]string{"tier": fmt.Sprint("p", r.IntN(5))}
		is := set.Select(tier)
		if is.Policy != "" && (len(is.Conflict) > 0 || !slices.Contains(order, is.Policy)) {
			t.Fatalf("node with %v: %+v", tier, is)
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		again := policies.New(all)
		if diff := cmp.Diff(order, again.Order()) + cmp.Diff(is, again.Select(tier)); diff != "" {
			t.Fatalf("shuffled policies differ: %s", diff)
		}
	}
}

// checkOrder fails unless a valid policy comes after those that it waits for.
func checkOrder(t *testing.T, set *policies.Set, order []string, p *v1alpha1.RolloutPolicy) {
	t.Helper()
	for _, before := range p.Spec.After {
		if !set.Stop(p.Name, now).Stops() && slices.Index(order, before) > slices.Index(order, p.Name) && !set.Stop(before, now).Stops() {
			t.Fatalf("%s waits for %s, and the order is %q", p.Name, before, order)
		}
	}
}

func randomPolicies(t *testing.T, r *rand.Rand) (all []*v1alpha1.RolloutPolicy) {
	t.Helper()
	names := []string{"default", "p0", "p1", "p2", "p3", "p4"}
	for _, name := range names[:r.IntN(len(names)+1)] {
		p := newPolicy(t, name, []string{"", "", everyNode, noSuchOperator}[r.IntN(4)])
		for range r.IntN(3) {
			p.Spec.After = append(p.Spec.After, names[r.IntN(len(names))])
		}
		all = append(all, p)
	}
	return all
}
