package catalog

// SortKeys and CanonicalJSON are to say the same of what json.Marshal makes.
var (
	SortKeys      = sortKeys
	CanonicalJSON = canonicalJSON
)

// Afford is afford for what needs so much time each, and returns what takes too long.
func Afford(each, total int, needs ...int) map[int]bool {
	all := make([]affordable, len(needs))
	for i, n := range needs {
		all[i] = &spender{needs: n}
	}
	return afford(all, each, total)
}

type spender struct{ needs, took int }

func (s *spender) advance(limit int) bool {
	s.took = min(s.needs, limit)
	return s.needs <= limit
}

func (s *spender) spent() int { return s.took }

// SelfSaid is what of a targeting a node can say of itself.
var SelfSaid = selfSaid
