package policies

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout"
	"github.com/fettle-dev/fettle/internal/text"
)

// A Stage is what a change would pass in one policy.
type Stage struct {
	Policy string `json:"policy,omitempty"` // "" for nodes that no policy takes, which get changes at once
	// After are the policies that must have completed the change before, sorted.
	After []string `json:"after,omitempty"`
	Nodes int      `json:"nodes"` // that the policy takes
	// Affected is the number of nodes that the change concerns.
	Affected int `json:"affected"`
	// Waves is how often further nodes are admitted if all prove the change at the same time.
	Waves int `json:"waves"`
	// AtLeast is how long the stage takes if nodes apply the change in no time: the soak of each wave.
	AtLeast metav1.Duration `json:"atLeast"`
	// Waits says what the stage also waits for, or when it admits nodes; "" for nothing.
	Waits string `json:"waits,omitempty"`
}

// Stages returns what a change would pass, in order: nodes that no policy takes, the policies, and nodes that are moved by none because
// several policies select them. nodes has the labels of each node by name.
func (s *Set) Stages(nodes map[string]map[string]string, affected func(node string) bool, now time.Time) []Stage {
	stages, conflicting := map[string]Stage{}, Stage{Waits: "several policies select these nodes: they are not changed"}
	for name, nodeLabels := range nodes {
		is := s.Select(nodeLabels)
		if len(is.Conflict) > 0 {
			conflicting = conflicting.with(affected(name))
			continue
		}
		stages[is.Policy] = stages[is.Policy].with(affected(name))
	}
	var all []Stage
	if free := stages[""]; free.Nodes > 0 {
		free.Waves = min(free.Affected, 1)
		all = append(all, free)
	}
	for _, name := range s.Order() {
		all = append(all, s.named[name].complete(stages[name], now))
	}
	if conflicting.Nodes > 0 {
		all = append(all, conflicting)
	}
	return all
}

// with adds a node.
func (s Stage) with(affected bool) Stage {
	s.Nodes++
	if affected {
		s.Affected++
	}
	return s
}

// complete adds what the spec of a policy says about a stage.
func (p *policy) complete(s Stage, now time.Time) Stage {
	s.Policy, s.After = p.Name, slices.Sorted(slices.Values(p.Spec.After))
	limits := rollout.PolicyOf(p.Spec)
	s.Waves = limits.Waves(s.Affected)
	s.AtLeast.Duration = time.Duration(s.Waves) * limits.Soak
	s.Waits = strings.Join(p.obstacles(now), "; ")
	return s
}

// obstacles are what may delay a change in a policy, besides other policies.
func (p *policy) obstacles(now time.Time) (all []string) {
	spec := p.Spec
	for _, obstacle := range []struct {
		exists bool
		text   string
	}{
		{p.fault != "", "invalid: " + p.fault},
		{spec.Paused, "paused"},
		{spec.Revision != "", "pinned to " + v1alpha1.ShortRevision(spec.Revision)},
		{len(spec.Gates) > 0, "gates: " + text.List(p.gates())},
	} {
		if obstacle.exists {
			all = append(all, obstacle.text)
		}
	}
	if spec.Window != nil {
		all = append(all, p.describeWindow(now))
	}
	return all
}

// gates names the gates, with their state unless it is True.
func (p *policy) gates() (names []string) {
	for _, gate := range p.Spec.Gates {
		switch c := meta.FindStatusCondition(p.Status.Conditions, gate); {
		case c == nil:
			gate += " (absent)"
		case c.Status != metav1.ConditionTrue:
			gate += fmt.Sprintf(" (%s)", c.Status)
		}
		names = append(names, gate)
	}
	return names
}

// describeWindow says of a window that is closed when it opens.
func (p *policy) describeWindow(now time.Time) string {
	line := "window " + DescribeWindow(*p.Spec.Window)
	if p.fault != "" {
		return line
	}
	if stop := p.window.stop(now); stop.Stops() {
		line += ": " + strings.TrimPrefix(stop.Message, "spec.window ")
	}
	return line
}

// DescribeWindow is "Sat, Sun 22:00-04:00 Europe/Berlin".
func DescribeWindow(w v1alpha1.RolloutWindow) string {
	var parts []string
	if len(w.Weekday) > 0 {
		parts = append(parts, join(w.Weekday))
	}
	if len(w.Range) > 0 {
		parts = append(parts, join(w.Range))
	}
	return strings.Join(append(parts, cmp.Or(w.TimeZone, "UTC")), " ")
}

func join[T ~string](all []T) string {
	var out []string
	for _, s := range all {
		out = append(out, string(s))
	}
	return strings.Join(out, ", ")
}
