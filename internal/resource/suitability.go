package resource

import (
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// A Suitability describes whether a provider can work on a host.
type Suitability struct {
	Provider    string
	Doc         string // for people; "" for none
	Features    []Feature
	Needs       Needs
	Defaults    Defaults
	Err         error    // why it can't work; nil if it can
	Specificity int      // number of matching facts; > 0 for a default provider of such hosts
	Chosen      bool     // the provider of resources that name none
	Tied        []string // if Chosen: other providers with as many matching facts
}

// Explain describes in a sentence, for a log, whether the provider works on the host and why not.
func (s Suitability) Explain(kind string) string {
	text := kind + ": provider " + s.Provider
	switch {
	case s.Err != nil:
		return text + " does not work on this host: " + s.Err.Error()
	case s.Chosen && len(s.Tied) > 0:
		return text + " is this host's default, although as many facts match " + strings.Join(s.Tied, ", ")
	case s.Chosen:
		return text + " is this host's default"
	}
	return text + " works on this host"
}

// Chosen returns the provider of resources of the kind that name none; "" if no provider is
// suitable.
func Chosen(k Kind, facts Facts, h host.Reader) string {
	for _, s := range k.Suitability(facts, h) {
		if s.Chosen {
			return s.Provider
		}
	}
	return ""
}
