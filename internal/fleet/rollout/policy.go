package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A Policy has the limits of a RolloutPolicy, with the defaults of absent fields.
type Policy struct {
	First, MaxInFlight, MaxFailed intstr.IntOrString
	// AtLeastFirst raises MaxInFlight to First where that is more.
	AtLeastFirst  bool
	Soak, Timeout time.Duration
}

// Defaults of a RolloutPolicy.
const (
	defaultSoak    = 2 * time.Minute
	defaultTimeout = 10 * time.Minute
)

// PolicyOf returns the limits that a spec sets.
func PolicyOf(spec v1alpha1.RolloutPolicySpec) Policy {
	p := Policy{
		First:        ptr.Deref(spec.First, intstr.FromInt32(1)),
		MaxInFlight:  ptr.Deref(spec.MaxInFlight, intstr.FromString("25%")),
		AtLeastFirst: spec.MaxInFlight == nil,
		MaxFailed:    ptr.Deref(spec.MaxFailed, intstr.FromString("2%")),
		Soak:         defaultSoak,
		Timeout:      defaultTimeout,
	}
	if spec.Soak != nil {
		p.Soak = spec.Soak.Duration
	}
	if spec.Timeout != nil {
		p.Timeout = spec.Timeout.Duration
	}
	return p
}

// FirstOf returns how many of some affected nodes may get the goal before one has proven it: at least one.
func (p Policy) FirstOf(affected int) int { return max(1, scaled(p.First, affected, true)) }

// MaxInFlightOf returns how many of some affected nodes may have the goal while it is open whether it works there: at least one.
func (p Policy) MaxInFlightOf(affected int) int {
	limit := max(1, scaled(p.MaxInFlight, affected, true))
	if p.AtLeastFirst {
		return max(limit, p.FirstOf(affected))
	}
	return limit
}

// growth is how many nodes may be admitted for each that has proven the goal.
const growth = 4

// MaxAdmittedOf returns how many of some affected nodes may be admitted, given how many have proven the goal or failed with it.
func (p Policy) MaxAdmittedOf(affected, proven, failed int) int {
	return max(p.FirstOf(affected)+failed, growth*proven)
}

// Waves returns how often further nodes are admitted until all affected ones are, if each time all prove the goal at the same time.
func (p Policy) Waves(affected int) (waves int) {
	for proven := 0; proven < affected; waves++ {
		proven += min(p.MaxAdmittedOf(affected, proven, 0)-proven, p.MaxInFlightOf(affected), affected-proven)
	}
	return waves
}

// MaxFailedOf returns how many of some admitted nodes may fail before the rollout halts.
func (p Policy) MaxFailedOf(admitted int) int { return scaled(p.MaxFailed, admitted, false) }

// scaled returns a number, or a percentage of n. The API server accepts no other text; 0 of it is the strictest.
func scaled(limit intstr.IntOrString, n int, up bool) int {
	number, err := intstr.GetScaledValueFromIntOrPercent(&limit, n, up)
	if err != nil {
		return 0
	}
	return max(0, number)
}
