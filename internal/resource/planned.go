package resource

// Planned returns what a plan would have changed by now, in its order: a [Write] of the attributes of its type for each resource.
// Only calls of a [Prechecker] and the like, and of a [Generator] in noop, have any, and an apply has none: there the host tells.
func Planned(h Reader) []any {
	if planned := h.call().Planned; planned != nil {
		return planned()
	}
	return nil
}

// PlannedNames returns the objects of a kind that a plan would have made, changed or removed by now, by the names of [Resource].Keys,
// and whether they would be there. It has any where [Planned] has, and in a Read in noop. It must not be changed.
func PlannedNames(h Reader, kind string) map[string]bool {
	if names := h.call().PlannedNames; names != nil {
		return names(kind)
	}
	return nil
}
