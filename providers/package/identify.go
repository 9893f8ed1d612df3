package pkg

import (
	"context"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
)

// Identify implements [resource.Identifier]: a package of the native architecture is the same
// with that in its name and without.
func (apt) Identify(_ context.Context, h resource.Reader, wants []Attributes) []string {
	identities := make([]string, len(wants))
	qualified := false
	for i, want := range wants {
		identities[i] = want.Name
		qualified = qualified || strings.Contains(want.Name, ":")
	}
	if !qualified {
		return identities
	}
	db, err := readDatabase(h)
	for i := range identities {
		if err != nil {
			identities[i] = "" // reading tells why
		} else {
			identities[i] = db.canonical(identities[i])
		}
	}
	return identities
}
