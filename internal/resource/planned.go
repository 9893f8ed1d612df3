package resource

// Planned returns what a plan would have changed by now, in its order: a [Write] of the attributes of its type for each resource.
// Only calls of a [Prechecker], and of a [Generator] in noop, have any, and an apply has none: there the host tells.
func Planned(h Reader) []any {
	if planned := h.call().Planned; planned != nil {
		return planned()
	}
	return nil
}
