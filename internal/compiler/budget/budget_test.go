package budget_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/compiler/budget"
)

// A need is a consumer that needs an amount.
type need struct{ needs, spent int }

func (n *need) Advance(limit int) bool {
	n.spent = min(n.needs, limit)
	return n.needs <= limit
}

func (n *need) Spent() int { return n.spent }

func TestDivide(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		each, total int
		needs       []int
		unfinished  map[int]bool
	}{
		"no consumers":                                   {10, 10, nil, map[int]bool{}},
		"enough for everyone":                            {100, 100, []int{10, 10}, map[int]bool{}},
		"a consumer that exceeds its own limit":          {100, 1000, []int{100, 101}, map[int]bool{1: true}},
		"unused shares go to consumers that need more":   {100, 120, []int{10, 55, 56}, map[int]bool{2: true}},
		"the rest is divided equally":                    {100, 120, []int{56, 10, 90}, map[int]bool{0: true, 2: true}},
		"everyone gets an equal share of half the total": {1000, 100, []int{25, 900}, map[int]bool{1: true}},
		"a single consumer may spend the total":          {1000, 100, []int{100}, map[int]bool{}},
		"a single consumer may not exceed the total":     {1000, 100, []int{101}, map[int]bool{0: true}},
	} {
		var all []*need
		for _, n := range tt.needs {
			all = append(all, &need{needs: n})
		}
		if diff := cmp.Diff(tt.unfinished, budget.Divide(all, tt.each, tt.total)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
