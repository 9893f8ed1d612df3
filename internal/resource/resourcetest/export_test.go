package resourcetest

import (
	"testing"

	"github.com/fettle-dev/fettle/internal/resource"
)

// Broken returns the errors of the laws that a type breaks, by the name of the law.
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
