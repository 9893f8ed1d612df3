package files

import "slices"

// Order arranges files, the highest first, so that few references run back up. It starts from the files
// that refer to more than refer to them, then moves one file at a time to its best place until no move
// helps. The result is a local optimum and the same on every call.
func Order(files []string, refs []Reference) []string {
	surplus := map[string]int{}
	for _, r := range refs {
		surplus[r.From]++
		surplus[r.To]--
	}
	order := slices.Clone(files)
	slices.SortStableFunc(order, func(a, b string) int { return surplus[b] - surplus[a] })
	linked := map[Reference]bool{}
	for _, r := range refs {
		linked[r] = true
	}
	for improved := true; improved; {
		improved = false
		for _, f := range slices.Clone(order) {
			if to := bestPlace(order, f, linked); to >= 0 {
				order = slices.Insert(slices.DeleteFunc(order, func(o string) bool { return o == f }), to, f)
				improved = true
			}
		}
	}
	return order
}

// bestPlace returns the place, among the other files, where f causes the fewest references back up, or -1
// if none is better than its own.
func bestPlace(order []string, f string, linked map[Reference]bool) int {
	own := slices.Index(order, f)
	others := slices.Delete(slices.Clone(order), own, own+1)
	cost := 0 // at the top, everything that refers to f runs back up
	for _, o := range others {
		if linked[Reference{o, f}] {
			cost++
		}
	}
	costs := []int{cost}
	for _, o := range others { // f passes below o
		if linked[Reference{o, f}] {
			cost--
		}
		if linked[Reference{f, o}] {
			cost++
		}
		costs = append(costs, cost)
	}
	least := slices.Min(costs)
	if costs[own] == least {
		return -1
	}
	return slices.Index(costs, least)
}
