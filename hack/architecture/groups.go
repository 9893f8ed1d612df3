package main

// A group is a box of the picture: packages that a reader needs together.
type group struct {
	id, title string
	folders   []string // with everything below them, except for folders of other groups
}

// groups lists all groups. The imports between them must not form a cycle.
func groups() []group {
	return []group{
		{"commands", "Programs", []string{"cmd"}},
		{"controllers", "Controllers of the manager", []string{"controllers"}},
		{"agent", "Agent of a node", []string{"nodeagent"}},
		{"cli", "Commands of fettle and kubectl fettle", []string{"internal/cli"}},
		{"fleet", "Decisions about a fleet", []string{"internal/fleet"}},
		{"compiler", "Compiler: resources to catalogs", []string{"internal/compiler"}},
		{"catalog", "Catalog: the document of a node", []string{"internal/catalog"}},
		{"manifests", "Manifests of users", []string{"internal/manifest", "internal/source"}},
		{"providers", "Kinds and their providers", []string{"providers"}},
		{"external", "External types", []string{"internal/external", "sdk"}},
		{"engine", "Engine: the transaction on a host", []string{"internal/engine", "internal/hostrun"}},
		{"drift", "Loop around runs: drift and when it is corrected", []string{"internal/reconcile", "internal/drift"}},
		{"state", "State on a host between runs", []string{"internal/state", "internal/bucket"}},
		{"facts", "What a host is", []string{"internal/facts", "internal/accounts", "internal/authorizedkeys", "internal/fetch"}},
		{"resource", "Interfaces of resource types", []string{"internal/resource"}},
		{"secrets", "Keys and tokens of nodes", []string{"internal/seal", "internal/nodetoken"}},
		{"host", "Host: the only access to a machine", []string{"internal/host"}},
		{"values", "Texts, patterns, expressions, graphs", []string{
			"internal/text", "internal/regex", "internal/shellwords", "internal/expression", "internal/structural", "internal/graph",
			"internal/aliases", "internal/puppet", "internal/durationflag", "internal/version",
		}},
		{"api", "API: kinds, conditions, manifests of the CRDs", []string{"api", "config"}},
	}
}
