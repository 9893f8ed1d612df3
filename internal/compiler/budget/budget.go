// Package budget divides a limited amount among consumers, some of which may want too much.
package budget

// A Consumer spends an amount that it does not know in advance.
type Consumer interface {
	// Advance continues until the consumer is done or has spent more than limit in total. It reports whether it is
	// done within the limit.
	Advance(limit int) bool
	// Spent returns the total spent so far.
	Spent() int
}

// Divide lets each consumer spend at most each, and all of them together about total. Every consumer gets at least its
// equal share of half of the total; the other half goes to those that need more. So a consumer that wants too much takes
// nothing from the others. Divide returns the positions of those that are not done. The order of consumers has no
// influence.
func Divide[C Consumer](all []C, each, total int) map[int]bool {
	unfinished := map[int]bool{}
	for i := range all {
		unfinished[i] = true
	}
	limit, left := 0, total
	for _, rounds := range []int{2, 1} {
		if len(unfinished) == 0 {
			break
		}
		more := min(each-limit, left/rounds/len(unfinished))
		limit += more
		for i, c := range all {
			if !unfinished[i] {
				continue
			}
			left -= more
			if c.Advance(limit) {
				delete(unfinished, i)
				left += limit - c.Spent()
			}
		}
	}
	return unfinished
}
