package engine

import (
	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A PlanCache keeps the plan of the items that it was asked for last. The zero value is empty. A nil cache keeps nothing. It is not
// safe for concurrent use.
type PlanCache struct {
	items []resource.Item
	plan  *plan.Plan
}

// of returns the plan of items. It takes slices of the same elements for the same items.
func (c *PlanCache) of(items []resource.Item) *plan.Plan {
	if c == nil || len(items) == 0 {
		return plan.New(items)
	}
	if len(c.items) != len(items) || &c.items[0] != &items[0] {
		c.items, c.plan = items, plan.New(items)
	}
	return c.plan
}
