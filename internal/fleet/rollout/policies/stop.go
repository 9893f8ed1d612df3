package policies

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
)

// A Stop is why a policy admits no further node at present, or does not aim at the newest revision. The zero value stops nothing.
type Stop struct {
	// Reason of the condition Ready, "" if nothing is stopped.
	Reason string
	// Message says what stops, and what to do about it.
	Message string
	// Stalled is true if a person must act.
	Stalled bool
	// Until is when the window opens or closes, so that the answer changes by itself; zero for never.
	Until time.Time
}

// Stops reports whether anything is stopped.
func (s Stop) Stops() bool { return s.Reason != "" }

func invalid(message string) Stop {
	return Stop{Reason: v1alpha1.ReasonInvalidPolicy, Message: message, Stalled: true}
}

// Stop returns why a policy may admit no further node at a time: it is invalid or paused, a gate is False or absent, or its window
// is closed; the first of these. A policy that does not exist stops nothing.
func (s *Set) Stop(name string, now time.Time) Stop {
	p := s.named[name]
	if p == nil {
		return Stop{}
	}
	stop := first(p.invalid(), p.paused(), p.failedGate(), p.absentGate())
	if stop.Stops() || p.window == nil {
		return stop
	}
	return p.window.stop(now)
}

// StopReturn is Stop for nodes that go back to a revision that the policy has completed: neither gates nor a window hold them up, since
// who goes back does so because of a fault.
func (s *Set) StopReturn(name string) Stop {
	p := s.named[name]
	if p == nil {
		return Stop{}
	}
	return first(p.invalid(), p.paused())
}

// first returns the first one that stops.
func first(all ...Stop) Stop {
	for _, stop := range all {
		if stop.Stops() {
			return stop
		}
	}
	return Stop{}
}

func (p *policy) invalid() Stop {
	if p.fault == "" {
		return Stop{}
	}
	return invalid(p.fault)
}

func (p *policy) paused() Stop {
	if !p.Spec.Paused {
		return Stop{}
	}
	return Stop{Reason: v1alpha1.ReasonPaused, Message: fmt.Sprintf("spec.paused is true: to go on, remove it, or run kubectl fettle rollout resume %s", p.Name)}
}

func (p *policy) failedGate() Stop {
	for _, gate := range p.Spec.Gates {
		c := meta.FindStatusCondition(p.Status.Conditions, gate)
		if c != nil && c.Status == metav1.ConditionFalse {
			return Stop{Reason: v1alpha1.ReasonGateFailed, Message: fmt.Sprintf("the gate %s is False: %s", gate, text.Line(explain(*c))), Stalled: true}
		}
	}
	return Stop{}
}

func (p *policy) absentGate() Stop {
	for _, gate := range p.Spec.Gates {
		c := meta.FindStatusCondition(p.Status.Conditions, gate)
		switch {
		case c == nil:
			return Stop{Reason: v1alpha1.ReasonWaitingForGate, Message: fmt.Sprintf("the gate %s is absent: nothing has set this condition on the policy yet", gate)}
		case c.Status != metav1.ConditionTrue:
			return Stop{Reason: v1alpha1.ReasonWaitingForGate, Message: fmt.Sprintf("the gate %s is Unknown: %s", gate, text.Line(explain(*c)))}
		}
	}
	return Stop{}
}

// explain is the reason and the message of a condition that somebody else set.
func explain(c metav1.Condition) string {
	if c.Message == "" {
		return c.Reason
	}
	return c.Reason + ": " + c.Message
}
