package catalog

// SortKeys and CanonicalJSON are to say the same of what json.Marshal makes.
var (
	SortKeys      = sortKeys
	CanonicalJSON = canonicalJSON
)

// SelfSaid is what of a targeting a node can say of itself.
var SelfSaid = selfSaid
