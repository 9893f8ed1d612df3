package resourcetest

import (
	"testing"

	"github.com/fettle-dev/fettle/internal/resource"
)

// Broken are the laws that a type breaks, with what is said of each.
func Broken[A any](t *testing.T, typ *resource.Type[A], c Case) map[string]string {
	t.Helper()
	broken := map[string]string{}
	for _, l := range laws(typ, c) {
		if err := l.check(t.Context(), t); err != nil {
			broken[l.name] = err.Error()
		}
	}
	return broken
}
