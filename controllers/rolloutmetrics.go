package controllers

// setRollouts sets the metrics of all policies, and ends the series of those that are gone.
func (m *Metrics) setRollouts(plans []policyPlan) {
	m.rolloutHalted.Reset()
	m.rolloutUnused.Reset()
	m.rolloutNodes.Reset()
	m.rolloutAge.Reset()
	for _, p := range plans {
		m.setRollout(p)
	}
}

func (m *Metrics) setRollout(p policyPlan) {
	policy := p.policy.Name
	m.rolloutHalted.WithLabelValues(policy).Set(number(p.halted))
	m.rolloutUnused.WithLabelValues(policy).Set(number(p.unused))
	m.rolloutAge.WithLabelValues(policy).Set(p.age.Seconds())
	n := p.status.Nodes
	for state, count := range map[string]int32{
		"total": n.Total, "affected": n.Affected, "admitted": n.Admitted, "proven": n.Proven, "failed": n.Failed, "excluded": n.Excluded,
	} {
		m.rolloutNodes.WithLabelValues(policy, state).Set(float64(count))
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
