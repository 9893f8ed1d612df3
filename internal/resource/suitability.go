package resource

import (
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// A Suitability is whether a provider can work on a host.
type Suitability struct {
	Provider    string
	Features    []Feature
	Needs       Needs
	Defaults    Defaults
	Err         error    // why it can't; nil if it can
	Specificity int      // > 0: a default provider of such hosts
	Chosen      bool     // what a resource that names no provider gets
	Tied        []string // of the chosen one: others for which as many facts speak
}

// Explain says in a sentence whether a provider works on the host it was looked for on, and
// why not, for a log.
func (s Suitability) Explain(kind string) string {
	text := kind + ": provider " + s.Provider
	switch {
	case s.Err != nil:
		return text + " does not work on this host: " + s.Err.Error()
	case s.Chosen && len(s.Tied) > 0:
		return text + " is this host's default, though as many facts speak for " + strings.Join(s.Tied, ", ")
	case s.Chosen:
		return text + " is this host's default"
	}
	return text + " works on this host"
}

// Chosen is the provider that a resource of the kind gets which names none; "" if none suits.
func Chosen(k Kind, facts Facts, h host.Reader) string {
	for _, s := range k.Suitability(facts, h) {
		if s.Chosen {
			return s.Provider
		}
	}
	return ""
}
