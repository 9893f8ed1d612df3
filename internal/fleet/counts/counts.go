// Package counts counts a fleet: its resources and nodes by state, and its drift.
package counts

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/conditions"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
)

// Counts count resources and nodes by state. Create it with [New].
type Counts struct {
	Resources map[[2]string]int // by kind and state
	Nodes     map[nodestate.State]int
	// Waiting is how many nodes wait for a rollout.
	Waiting int
	states  map[string]nodestate.State // by node
	// Deselection is what is held, nil for nothing.
	Deselection *v1alpha1.HeldDeselection
}

// New returns the counts of an empty fleet. It has zeros for every state and kind, so that a series of metrics
// does not end when its last member leaves it.
func New(kinds []string) *Counts {
	c := &Counts{Resources: map[[2]string]int{}, Nodes: map[nodestate.State]int{}, states: map[string]nodestate.State{}}
	for _, kind := range kinds {
		for _, state := range conditions.Summaries() {
			c.Resources[[2]string{kind, state}] = 0
		}
	}
	for _, state := range nodestate.States() {
		c.Nodes[state] = 0
	}
	return c
}

// AddNode adds a node in a state.
func (c *Counts) AddNode(name string, state nodestate.State) {
	c.Nodes[state]++
	c.states[name] = state
}

// AddResource adds a resource in a state of [conditions.Summaries].
func (c *Counts) AddResource(kind, state string) { c.Resources[[2]string{kind, state}]++ }
